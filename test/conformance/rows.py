"""A second mapper from recorded platform answers to the expected rows, written from the pages of
the specification alone. Python's standard library; it imports no code of the project.
  rows.py [--base URL] [--unescape] KIND FILE...    or, without KIND, lines KIND<TAB>FILE[<TAB>unescape] on stdin
Writes one line of JSON for each file: {"kind", "file"} and, by kind (`after` is the platform's own cursor),
  listing-posts: posts, after            listing-mixed, user-listing: items (each with its kind), after
  comments-listing: comments, after      post: post      comment: comment, node (native)
  comment-tree: post, nodes (native), comments (every t1, depth first), truncated
  more-children: nodes (native, flat), comments (the t1 among them)
  info-batch: posts, comments, nodes (native t1), communities, liveness {id: status}
  user-about: user      user-search: users, after      moderators: moderators
  subreddit-about: community      subreddit-search: communities, after
or {"skip": why} if the file cannot be an answer of that kind.
A row omits a key if the pages do not define its value for the recording; all present keys must be equal.
Compare `created`, `edited`, `added` as instants, and URLs without a trailing slash.
--unescape decodes &amp; &lt; &gt; once, for answers that were requested without raw text.
"""
import argparse, collections, datetime, json, re, sys
from urllib.parse import quote, urlsplit

BASE, IMAGES = "https://www.forum.example", (".jpg", ".jpeg", ".png", ".webp")
class Odd(Exception): """The file is not an answer of the expected kind."""
def need(ok, why):
    if not ok: raise Odd(why)
def iso(seconds):
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
def unescape(v):
    if isinstance(v, str): return v.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    if isinstance(v, list): return [unescape(x) for x in v]
    return {k: unescape(x) for k, x in v.items()} if isinstance(v, dict) else v
# Names have the form ours=theirs. The first omits an absent value, the second returns null.
def there(d, **names): return {ours: d[theirs] for ours, theirs in names.items() if d.get(theirs) is not None}
def nullable(d, **names): return {ours: d.get(theirs) for ours, theirs in names.items() if d.get(theirs) != ""}
def absolute(link): return web(BASE + link if link.startswith("/") else link) if link else None
# An address stays as it is spelt, unless a page or a header could not hold it.
def web(address): return quote(address, safe="/%:@!$&'()*+,;=~[]?#-._") if re.search(r'[\x00-\x20"<>\\^`{|}\x7f-\x9f]', address) else address
def pathed(d): return {"permalink": web(d["permalink"]), "url": BASE + web(d["permalink"])} if d.get("permalink") else {}
def dated(d): return {"created": iso(d["created_utc"]), "created_utc": d["created_utc"]} if d.get("created_utc") else {}
def authored(d):
    edited = d.get("edited")
    info = nullable(d, fullname="author_fullname", flair="author_flair_text", premium="author_premium")
    row = {**there(d, id="id", author="author", subforum="subreddit", upvotes="score"), **dated(d), "author_info": info}
    return row if edited is None else {**row, "edited": edited if isinstance(edited, bool) else iso(edited)}
def media_kind(d):
    if d.get("is_gallery"): return "gallery"
    if d.get("is_video") or d.get("post_hint") in ("hosted:video", "rich:video"): return "video"
    where = urlsplit(d.get("url") or "")
    if d.get("post_hint") == "image" or where.netloc == "i.redd.it" or where.path.lower().endswith(IMAGES): return "image"
    origins = d.get("crosspost_parent_list")
    return media_kind(origins[0]) if origins else None
def post(d):
    need("title" in d and "is_self" in d, "a t3 without title")
    flags = {k: k for k in ("over_18", "spoiler", "locked", "stickied", "is_self", "is_video")}
    row = {**authored(d), "name": "t3_" + d["id"], **pathed(d), **there(d, title="title", comments="num_comments", text="selftext", **flags)}
    row.update(nullable(d, upvote_ratio="upvote_ratio", flair="link_flair_text", domain="domain"))
    row["link_url"] = None if d["is_self"] else absolute(d.get("url_overridden_by_dest") or d["url"])
    row["thumbnail_url"] = d["thumbnail"] if (d.get("thumbnail") or "").startswith("http") else None
    row["is_crosspost"], origins = bool(d.get("crosspost_parent")), d.get("crosspost_parent_list") or []
    if origins: row["crosspost_origin"] = there(origins[0], id="id", subforum="subreddit", permalink="permalink")
    elif not row["is_crosspost"]: row["crosspost_origin"] = None
    # The documentation describes an animated image both as an image and as a gif.
    return row if ".gif" in (d.get("url") or "").lower() else {**row, "media_kind": media_kind(d)}
def comment(d):
    need("body" in d and "link_id" in d, "t1 without body or link_id: the inbox, or the rendered legacy shape")
    row = {**authored(d), "name": "t1_" + d["id"], **pathed(d), "body": d["body"], "post_id": d["link_id"].removeprefix("t3_"), **there(d, is_submitter="is_submitter")}
    return {**row, "link_url": absolute(d.get("link_url")), **{k: d.get(k) for k in ("link_title", "parent_id", "depth", "over_18")}}
def user(d):
    sub, names = d.get("subreddit") or {}, ("link_karma", "comment_karma", "total_karma", "verified", "is_employee", "is_mod")
    row = {"id": d.get("id"), "name": d["name"], "url": f"{BASE}/user/{quote(d['name'], safe='')}/", "is_suspended": bool(d.get("is_suspended"))}
    row.update({"created": None, "created_utc": None, **dict.fromkeys(names)})
    if row["is_suspended"]: return row
    row.update({**dated(d), **{k: d.get(k) for k in names}})
    if sub: row.update(nullable(sub, display_name="title", description="public_description", banner_url="banner_img", over_18="over_18"))
    pictures = {x for x in (d.get("snoovatar_img"), d.get("icon_img")) if x}
    return {**row, "avatar_url": pictures.pop()} if len(pictures) == 1 else row
def community(d):
    row = {"created": None, "created_utc": None, "id": d.get("id"), "name": d["display_name"], **dated(d)}
    row.update(nullable(d, title="title", type="subreddit_type", over_18="over18", quarantined="quarantine", language="lang",
                        subscribers="subscribers", display_name_prefixed="display_name_prefixed", banner_url="banner_img"))
    row["active_users"] = next((d[k] for k in ("active_user_count", "accounts_active") if d.get(k) is not None), None)
    if d.get("url"): row["url"] = BASE + d["url"]
    pictures = {x.replace("&amp;", "&") for x in (d.get("community_icon"), d.get("icon_img")) if x}
    return {**row, "icon_url": pictures.pop()} if len(pictures) == 1 else row
def moderator(d):
    need("mod_permissions" in d, "relations without mod_permissions: not moderators")
    row = there(d, id="id", name="name", mod_permissions="mod_permissions")
    return {**row, "flair_text": d.get("author_flair_text"), "added": iso(d["date"]) if d.get("date") else None}
def listing(v, kind="Listing"):
    need(isinstance(v, dict) and v.get("kind") == kind, f"not one {kind}")
    return v["data"]["children"], v["data"].get("after")
def rows(children, **mappers):  # A row of another kind is left out; a list of nothing else is no such list.
    due = [c for c in children if c.get("kind") in mappers]
    need(due or not children, "rows of another kind")
    return [mappers[c["kind"]](c["data"]) for c in due]
def walk(nodes):
    for n in nodes:
        yield n
        if n["kind"] == "t1" and n["data"].get("replies"): yield from walk(listing(n["data"]["replies"])[0])
def replies(nodes): return [comment(n["data"]) for n in nodes if n["kind"] == "t1"]
def liveness(d):
    masks = {"[deleted]": "deleted", "[removed]": "removed", "[ Removed by Reddit ]": "removed"}
    return masks.get(d["body"], "live") if d.get("author") == "[deleted]" else "live"
def tree(v):
    need(isinstance(v, list) and len(v) == 2, "not a pair of listings")
    every = list(walk(nodes := listing(v[1])[0]))
    need(all(n["kind"] in ("t1", "more") for n in every), "rows of another kind")
    return {"post": rows(listing(v[0])[0], t3=post)[0], "nodes": nodes, "comments": replies(every), "truncated": any(n["kind"] == "more" for n in every)}
def more(v):
    need(isinstance(v, dict) and "json" in v, "not an answer to morechildren")
    return {"nodes": v["json"]["data"]["things"], "comments": replies(v["json"]["data"]["things"])}
def info(v):
    t1, t3, t5 = ([c for c in listing(v)[0] if c["kind"] == kind] for kind in ("t1", "t3", "t5"))
    return {"posts": rows(t3, t3=post), "comments": replies(t1), "nodes": t1, "communities": rows(t5, t5=community),
            "liveness": {c["data"]["id"]: liveness(c["data"]) for c in t1}}
def users(v):  # Suspended rows have no id and are skipped.
    return {"users": rows([c for c in listing(v)[0] if c["kind"] != "t2" or "id" in c["data"]], t2=user), "after": listing(v)[1]}
def single(v, kind, mapper):
    need(isinstance(v, dict) and v.get("kind") == kind and isinstance(v.get("data"), dict), f"not one wrapped {kind}")
    return mapper(v["data"])
def once(found):  # Listings that change while they are read repeat rows.
    return [r for i, r in enumerate(found) if r["name"] not in {x["name"] for x in found[:i]}]
def page(name, **mappers): return lambda v: {name: once(rows(listing(v)[0], **mappers)), "after": listing(v)[1]}

ITEMS = {"t3": lambda d: {**post(d), "kind": "post"}, "t1": lambda d: {**comment(d), "kind": "comment"}}
KINDS = {
    "listing-posts": page("posts", t3=post), "listing-mixed": page("items", **ITEMS), "user-listing": page("items", **ITEMS),
    "comments-listing": page("comments", t1=comment), "comment-tree": tree, "more-children": more, "info-batch": info,
    "post": lambda v: {"post": single(v, "t3", post)}, "comment": lambda v: {"comment": single(v, "t1", comment), "node": v},
    "user-about": lambda v: {"user": single(v, "t2", user)}, "user-search": users,
    "subreddit-about": lambda v: {"community": single(v, "t5", community)}, "subreddit-search": page("communities", t5=community),
    "moderators": lambda v: {"moderators": [moderator(d) for d in listing(v, "UserList")[0]]},
}
def answer(kind, file, escaped):
    try:
        v = json.loads(re.sub(rb"(?:<|&lt;)(TEST_SUBREDDIT|(?:REDDIT_)?USERNAME)(?:>|&gt;)", rb"\1", open(file, "rb").read()))
        return KINDS[kind](unescape(v) if escaped else v)
    except (Odd, ValueError) as odd: return {"skip": str(odd)}
    except (KeyError, TypeError, AttributeError) as lack: return {"skip": f"lacks {lack}"}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, how in (("--base", {"default": BASE}), ("--unescape", {"action": "store_true"})): parser.add_argument(name, **how)
    for name, how in (("kind", {"nargs": "?", "choices": KINDS}), ("file", {"nargs": "*"})): parser.add_argument(name, **how)
    given = parser.parse_args()
    BASE = given.base.rstrip("/")
    asked = [(given.kind, f) for f in given.file] if given.kind else [line.rstrip("\n").split("\t") for line in sys.stdin if line.strip()]
    counts = collections.Counter()
    for kind, file, *escaped in asked:
        found = answer(kind, file, given.unescape or "unescape" in escaped)
        counts[f"{kind}: {found['skip']}" if "skip" in found else "mapped"] += 1
        print(json.dumps({"kind": kind, "file": file, **found}))
    print(*(f"{n:5} {what}" for what, n in sorted(counts.items())), sep="\n", file=sys.stderr)
