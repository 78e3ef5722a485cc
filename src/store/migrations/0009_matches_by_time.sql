-- So that the auditor finds what was matched lately without reading all that ever was.
CREATE INDEX matches_at ON matches (matched_at);
