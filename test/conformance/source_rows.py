"""A second mapper from recorded answers of Discourse, Hacker News, Lemmy and PieFed to the expected rows, written
from the page of the specification alone. Python's standard library; it imports no code of the project.
  source_rows.py < lines KIND<TAB>FILE     KIND: discourse, hackernews, lemmy
Writes one line of JSON for each file: {"file", "rows": [{"of": post|comment|user, "name", "row"}]}. Every object of the
answer that is a live post, comment or user is a row, in the order of the answer. A row omits a key if the page does not
define its value for the recording; all present keys must be equal. Compare instants as instants, and texts as texts.
"""
import html, json, re, sys
from urllib.parse import urlsplit

HN = "https://news.ycombinator.com"
def there(d, **names): return {ours: d[theirs] for ours, theirs in names.items() if d.get(theirs) is not None}
def seconds(at): return {"created_utc": at}
# Text without markup means the same in HTML and in Markdown.
def plain(v): return bool(v) and not re.search(r"[<>&*_`#\[\]\\~|]|^\s*[-+=\d]|  |\n", v)

def discourse_post(p, site):
    if p.get("post_type", 1) != 1 or p.get("user_deleted") or p.get("hidden") or p.get("post_number") is None: return None
    if p.get("topic_id") is None: return None
    topic, starter = str(p["topic_id"]), p["post_number"] == 1
    row = there(p, author="username", created="created_at")
    likes = [a.get("count", 0) for a in p.get("actions_summary") or [] if a.get("id") == 2]
    if likes: row["upvotes"] = likes[0]
    elif "actions_summary" in p and "like_count" not in p: row["upvotes"] = 0
    elif "like_count" in p: row["upvotes"] = p["like_count"]
    if "version" in p: row["edited"] = p["updated_at"] if p["version"] > 1 and p.get("updated_at") else False
    # Links within the site become absolute, and BBCode and HTML lose their names, both of which the page leaves to the mapper.
    if isinstance(p.get("raw"), str) and not re.search(r"\]\(/|upload://|(src|href)=.?/|\[/?[a-z]+[\]=]|<", p["raw"]): row["text" if starter else "body"] = p["raw"]
    if starter:
        return {"of": "post", "name": "t3_" + topic, "row": {**row, "id": topic, "over_18": False, "spoiler": False, "upvote_ratio": None, **({"title": html.unescape(p["topic_title"])} if p.get("topic_title") else {})}}
    parent = p.get("reply_to_post_number")
    row.update(id=str(p["id"]), post_id=topic)
    if parent in (None, 1): row["parent_id"] = "t3_" + topic
    elif (found := site.get((p["topic_id"], parent))): row["parent_id"] = "t1_" + str(found)
    return {"of": "comment", "name": "t1_" + str(p["id"]), "row": row}
def discourse_topic(t, users):
    row = {"id": str(t["id"]), "title": html.unescape(t["title"]), "over_18": False, "spoiler": False, "upvote_ratio": None,
           **there(t, created="created_at")}
    if "posts_count" in t: row["comments"] = t["posts_count"] - 1
    if "like_count" in t: row["upvotes"] = t["like_count"]
    if "pinned" in t or "pinned_globally" in t: row["stickied"] = bool(t.get("pinned") or t.get("pinned_globally"))
    if "closed" in t or "archived" in t: row["locked"] = bool(t.get("closed") or t.get("archived"))
    if t.get("featured_link"): row["link_url"] = t["featured_link"]
    first = [p for p in t.get("posters") or [] if "Original Poster" in (p.get("description") or "")]
    if first and first[0].get("user_id") in users: row["author"] = users[first[0]["user_id"]]
    return {"of": "post", "name": "t3_" + str(t["id"]), "row": row}
def discourse_user(u):
    return {"of": "user", "name": u["username"], "row": {"id": str(u["id"]), "name": u["username"],
            **there(u, created="created_at"), "link_karma": None, "comment_karma": None, "total_karma": None}}
def discourse(d):
    if not isinstance(d, dict): d = {"post_stream": {"posts": d}} if isinstance(d, list) else {}
    posts = d.get("latest_posts") or (d.get("post_stream") or {}).get("posts") or ([d] if "cooked" in d or "raw" in d else [])
    topic = d if "post_stream" in d else {}
    posts = [p for p in posts if "id" in p]
    for p in posts: p["topic_id"] = topic.get("id", p.get("topic_id"))
    numbers = {(p.get("topic_id"), p.get("post_number")): p.get("id") for p in posts}
    rows = [discourse_post(p, numbers) for p in posts]
    listed = (d.get("topic_list") or {}).get("topics") or []
    users = {u["id"]: u["username"] for u in d.get("users") or [] if "username" in u and "id" in u}
    rows += [discourse_topic(t, users) for t in listed if "id" in t and "title" in t]
    user = d.get("user")
    if isinstance(user, dict) and "username" in user and "id" in user: rows.append(discourse_user(user))
    return rows

def hn_text(field, v): return {field: v} if plain(v) else {field: ""} if v == "" else {}
def hn_item(d):
    if d.get("type") not in ("story", "job", "poll", "comment") or d.get("deleted") or d.get("dead"): return None
    name, row = str(d["id"]), {"id": str(d["id"]), "author": d.get("by", "[deleted]"), **there(d, created_utc="time"), "url": f"{HN}/item?id={d['id']}", "edited": False}
    if d["type"] == "comment":
        return {"of": "comment", "name": "t1_" + name, "row": {**row, "score_hidden": True, **hn_text("body", d.get("text"))}}
    title = html.unescape(d.get("title", ""))
    place = "job" if d["type"] == "job" else "ask" if title.startswith("Ask HN:") else "show" if title.startswith("Show HN:") else "story"
    return {"of": "post", "name": "t3_" + name, "row": {**row, "title": title, "subforum": place, "link_url": d.get("url") or None, "is_self": not d.get("url"),
            **there(d, upvotes="score", comments="descendants"), **hn_text("text", d.get("text", ""))}}
def hn_hit(h):
    tags, name = h.get("_tags") or [], h["objectID"]
    if "created_at_i" not in h: return None
    row = {"id": name, **there(h, author="author", created_utc="created_at_i")}
    if "comment" in tags:
        return {"of": "comment", "name": "t1_" + name, "row": {**row, **there(h, link_url="story_url"), "post_id": str(h["story_id"]) if h.get("story_id") else "", **hn_text("body", h.get("comment_text")),
                **({"link_title": html.unescape(h["story_title"])} if h.get("story_title") else {})}}
    if not {"story", "poll", "job"} & set(tags): return None
    return {"of": "post", "name": "t3_" + name, "row": {**row, "title": html.unescape(h.get("title") or ""), "link_url": h.get("url") or None, **there(h, upvotes="points", comments="num_comments")}}
def hn_user(u):
    at = u.get("created", u.get("created_at_i"))
    return {"of": "user", "name": u.get("username", u.get("id")), "row": {"name": u.get("username", u.get("id")), "created_utc": at, "total_karma": u["karma"]}}
def hackernews(d):
    if not isinstance(d, dict): return []
    if "karma" in d: return [hn_user(d)]
    if "hits" in d: return [hn_hit(h) for h in d["hits"]]
    items = [d] if "type" in d else [v for v in d.values() if isinstance(v, dict) and "type" in v]
    return [hn_item(i) for i in items if "children" not in i and "created_at_i" not in i]

def named(o, key):
    host = urlsplit(o.get("ap_id") or o.get("actor_id") or "").netloc
    return o[key] if o.get("local") is not False else f"{o[key]}@{host}"
def lemmy_when(o): return {"created": o.get("published_at") or o.get("published"), "edited": o.get("updated_at") or o.get("updated") or False}
def lemmy_person(p): return named(p, "user_name" if "user_name" in p else "name")
def lemmy_view(v):
    kind = "comment" if "comment" in v else "post" if "post" in v else None
    if kind is None: return lemmy_user(v) if "person" in v else None
    o, c, post = v[kind], v.get("counts") or v[kind], v["post"]
    if o.get("deleted") or o.get("removed"): return None
    host = urlsplit((v.get("community") or {}).get("actor_id") or (v.get("community") or {}).get("ap_id") or "").netloc
    row = {"id": str(o["id"]), "author": lemmy_person(v["creator"]), "subforum": named(v["community"], "name"), **lemmy_when(o), **there(c, upvotes="score")}
    if kind == "post":
        up, down = c.get("upvotes"), c.get("downvotes")
        if up is not None and down is not None: row["upvote_ratio"] = round(up / (up + down), 2) if up + down else None
        sticky = [o[k] for k in ("featured_community", "featured_local", "sticky", "instance_sticky") if k in o]
        return {"of": kind, "name": f"t3_{o['id']}", "row": {**row, "title": o.get("title") or o.get("name"), "text": o.get("body") or "", "link_url": o.get("url"),
                **there(c, comments="comments"), "over_18": bool(o.get("nsfw")), "locked": bool(o.get("locked")), **({"stickied": any(sticky)} if sticky else {})}}
    path = o["path"].split(".")
    return {"of": kind, "name": f"t1_{o['id']}", "row": {**row, "body": o.get("content", o.get("body")), "post_id": str(o["post_id"]), "link_title": post.get("name") or post.get("title"),
            "parent_id": f"t1_{path[-2]}" if len(path) > 2 else f"t3_{o['post_id']}", "depth": len(path) - 2,
            "is_submitter": o.get("creator_id", o.get("user_id")) == post.get("creator_id", post.get("user_id"))}}
def lemmy_user(v):
    p = v["person"]
    return {"of": "user", "name": lemmy_person(p), "row": {"id": str(p["id"]), "name": lemmy_person(p), "created": p.get("published_at") or p.get("published"),
            "link_karma": None, "comment_karma": None, "total_karma": None, **there(p, description="bio", avatar_url="avatar", banner_url="banner")}}
def lemmy(d):
    views = d.get("items") or [*(d.get("posts") or []), *(d.get("comments") or []), *(d.get("users") or [])]
    people = [d["person_view"]] if "person_view" in d else []
    return [lemmy_view(v) for v in [*views, *people] if "notification" not in v]

MAPPERS = {"discourse": discourse, "hackernews": hackernews, "lemmy": lemmy}
for line in sys.stdin.read().splitlines():
    kind, file = line.split("\t")
    with open(file, encoding="utf-8") as f: rows = MAPPERS[kind](json.load(f))
    print(json.dumps({"file": file, "rows": [r for r in rows if r]}))
