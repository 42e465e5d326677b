from magazine.spiders.magazine import MagazineSpider


class WithTextSpider(MagazineSpider):
    name = "with_text"

    def article(self, response):
        text = " ".join(response.css("article p::text").getall())
        return {**super().article(response), "text": text}
