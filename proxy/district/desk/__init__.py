"""What the desk of a district shows and gives.

pushing       rules and topics for all schools, by version: put by the district, read by schools
pushedtopics  the district's topics among a school's own
schoolside    a school takes what it is given, and tells how it fares
overview      all schools and their figures, for the district's desk
"""
