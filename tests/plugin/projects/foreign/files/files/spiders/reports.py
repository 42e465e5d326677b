import scrapy


class ReportsSpider(scrapy.Spider):
    name = "reports"

    async def start(self):
        yield scrapy.Request(f"{self.site}/")

    def parse(self, response):
        yield from response.follow_all(css="a.article", callback=self.parse_report)

    def parse_report(self, response):
        yield {
            "url": response.url,
            "headline": response.css("h1::text").get(),
            "file_urls": [response.urljoin(response.css("a.file::attr(href)").get())],
        }
