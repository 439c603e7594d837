"""A plain Scrapy spider, for `benchmarks.crawlspeed`: follows all links and writes title and text of each page.

PYTHON-WITH-SCRAPY scrapyspider.py OUT.jsonl PAGES AT-ONCE URL...
"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Pages(scrapy.Spider):
    name = "pages"
    links = LinkExtractor()

    def __init__(self, start, **known):
        super().__init__(**known)
        self.start_urls = start

    def parse(self, response):
        text = " ".join(response.xpath("//body//text()[not(parent::script)]").getall())
        yield {"url": response.url, "title": response.css("title::text").get(), "text": text}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)


if __name__ == "__main__":
    out, pages, at_once, *start = sys.argv[1:]
    process = CrawlerProcess(
        {
            "CLOSESPIDER_PAGECOUNT": int(pages),
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
            "DOWNLOAD_DELAY": 0,
            "AUTOTHROTTLE_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
            "LOG_LEVEL": "WARNING",
            "FEEDS": {out: {"format": "jsonlines"}},
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages, start=start)
    process.start()
