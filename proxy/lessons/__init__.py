"""Lessons: the links of a teacher's worksheet, tried as the class will see them. Read `service` first.

LessonService -> LessonStore, LinkChecker (rules, HttpClient, Soft404Detector, repairer), FetchQueue
"""
