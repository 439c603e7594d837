"""The shared pages of a district, in OpenSearch: the second implementation of what ranking reads of a collection.

client        HTTP to any node, bounded in time and size; rests after failures
template      the index: `pages.json`
pagedocument  a saved page as a document of the index, and back
census        how common terms are among all pages, counted by one machine, kept by every school
sharedpages   the collection over the index: read this first
sitesheets    the known URLs of each site
publishing    pages, tombstones and the anchors of other schools' links into the index
withdrawal    a school's pages out of the index again
outbox        what a school has still to send, in its own database
"""
