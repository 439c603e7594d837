"""The desk of a district: all schools, and what they are given. Only where the settings say `district.desk`."""
