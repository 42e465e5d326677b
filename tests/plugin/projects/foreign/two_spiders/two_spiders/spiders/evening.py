from two_spiders.spiders.morning import MorningSpider


class EveningSpider(MorningSpider):
    name = "evening"
