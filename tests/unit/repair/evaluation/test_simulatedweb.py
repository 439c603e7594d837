import pytest

from repair.errors import EvaluationFailed
from repair.evaluation.simulatedweb import SimulatedWeb
from repair.model import Document, Link

HOST = "http://w.test/wp"


def test_subject_index_is_the_truth_and_hidden_from_crawlers():
    hint = "Selection. Related subjects: Farming; Kings\nReal words"
    page = Document(
        url=f"{HOST}/a",
        title="A",
        text=hint,
        links=(
            Link(target_url=f"{HOST}/index/subject.Farming.htm", anchor="Farming"),
            Link(target_url=f"{HOST}/b", anchor="B", before="Related subjects Farming", after="fine"),
        ),
    )
    targets = (f"{HOST}/a", f"{HOST}/index/subject.htm")
    index = Document(
        url=f"{HOST}/index/subject.Farming.htm",
        title="Index : Life / Farming",
        text="",
        links=tuple(Link(target_url=url, anchor="") for url in targets),
    )
    web = SimulatedWeb.from_documents({page.url: page, index.url: index})
    (topic,) = web.topics
    assert (topic.name, topic.pages) == ("Farming", {page.url})
    (seen,) = web.documents.values()
    assert "Farming" not in seen.text
    assert "Real words" in seen.text
    assert [(link.anchor, link.before, link.after) for link in seen.links] == [("B", "", "fine")]


def test_folder_without_a_collection_is_refused(tmp_path):
    with pytest.raises(EvaluationFailed, match="not a collection folder"):
        SimulatedWeb.load(tmp_path)
