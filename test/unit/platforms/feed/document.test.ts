import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'

import { feedDate } from '../../../../src/platforms/feed/dates.ts'
import {
  type FeedDocument,
  type FeedEntry,
  readFeed,
} from '../../../../src/platforms/feed/document.ts'

const NOW = Date.UTC(2026, 10, 28, 20)
const at = (text: string): number => Date.parse(text)

const outcomeOf = (
  text: string | Uint8Array,
  content_type: string | null = null,
  url = 'https://forum.example/feed',
) =>
  readFeed(typeof text === 'string' ? new TextEncoder().encode(text) : text, {
    content_type,
    url,
    now: NOW,
  })

async function documentOf(...given: Parameters<typeof outcomeOf>): Promise<FeedDocument> {
  const outcome = await outcomeOf(...given)
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.fault))
  return outcome.value
}

const firstOf = (document: FeedDocument): FeedEntry => {
  const [first] = document.entries
  if (first === undefined) throw new Error('no entry')
  return first
}

/** The entry of a channel with one item. */
const item = async (fields: string, root = ''): Promise<FeedEntry> =>
  firstOf(
    await documentOf(
      `<rss version="2.0" ${root}><channel><title>T</title><link>https://forum.example/</link><item>${fields}</item></channel></rss>`,
    ),
  )

const entry = async (fields: string, attributes = ''): Promise<FeedEntry> =>
  firstOf(
    await documentOf(
      `<feed xmlns="http://www.w3.org/2005/Atom" ${attributes}><title>T</title><link href="https://forum.example/"/><entry>${fields}</entry></feed>`,
    ),
  )

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const titled = (title: string, declaration = ''): string =>
  `${declaration}<rss><channel><title>T</title><item><title>${title}</title></item></channel></rss>`

const titleOf = async (...given: Parameters<typeof outcomeOf>) =>
  firstOf(await documentOf(...given)).title

describe('dates', () => {
  test.each([
    ['Mon, 03 Oct 2011 18:28:59 +0200', '2011-10-03T16:28:59Z'],
    ['Mon, 3 Oct 11 18:28 EST', '2011-10-03T23:28:00Z'],
    ['3 October 2011 18:28:59 GMT', '2011-10-03T18:28:59Z'],
    ['05 Oct 2026 16:39 +0000', '2026-10-05T16:39:00Z'],
    ['Mon, 03-Oct-2011 18:28:59 UT', '2011-10-03T18:28:59Z'],
    ['2011-10-03T18:28:59.123456+02:00', '2011-10-03T16:28:59Z'],
    ['2011-10-03T18:28Z', '2011-10-03T18:28:00Z'],
    ['2011-10-03T18:28:59-0430', '2011-10-03T22:58:59Z'],
    ['2011-10-03 18:28:59', '2011-10-03T18:28:59Z'],
    ['2011-10-03 18:28:59 UTC', '2011-10-03T18:28:59Z'],
    ['2011-10-03', '2011-10-03T00:00:00Z'],
    ['2020/1/10 14:33:00', '2020-01-10T14:33:00Z'],
    ['Mon Oct  3 18:28:59 2011', '2011-10-03T18:28:59Z'],
    ['Mon Oct 03 2011 18:28:59 GMT+0200 (CEST)', '2011-10-03T16:28:59Z'],
    ['Mon, 03 Oct 2011 18:28:59 Z', '2011-10-03T18:28:59Z'],
    ['  Mon,  03 Oct 2011\n 18:28:59 PDT ', '2011-10-04T01:28:59Z'],
  ])('%s is a time', (text, expected) => {
    expect(feedDate(text, NOW)).toBe(at(expected))
  })

  test.each([
    '',
    'Seg, 24 Set 2018 19:42:40 -0300',
    'Mon, 3 Oct 2011 18:28:59 + 020',
    '03/10/2011 18:28',
    '1970-01-01T00:00:01Z',
    '2033-06-01T00:00:00Z',
    '2011-02-30T00:00:00Z',
    '2011-13-03',
    '0000-00-00 00:00:00',
    '1e300',
    'x'.repeat(100_000),
  ])('%s is no time', (text) => {
    expect(feedDate(text, NOW)).toBeNull()
  })

  test('a local time in a wrong zone is up to fourteen hours ahead', () => {
    expect(feedDate('2026-11-29T09:59:00Z', NOW)).toBe(at('2026-11-29T09:59:00Z'))
    expect(feedDate('2026-11-29T10:01:00Z', NOW)).toBeNull()
  })
})

describe('the charset of a document', () => {
  test('is UTF-8 where the bytes are, whatever is declared', async () => {
    expect(await titleOf(titled('é', '<?xml version="1.0" encoding="iso-8859-1"?>'))).toBe('é')
    expect(await titleOf(titled('é', '<?xml version="1.0" encoding="utf-16"?>'))).toBe('é')
    expect(await titleOf(titled('é'), 'text/xml; charset=windows-1251')).toBe('é')
  })

  test('is the declared one, then that of the header, then windows-1252', async () => {
    const declared = '<?xml version="1.0" encoding="windows-1251"?>'
    expect(await titleOf(latin1(titled('\xcf\xf0', declared)))).toBe('Пр')
    expect(await titleOf(latin1(titled('\xcf\xf0')), 'text/xml; charset="windows-1251"')).toBe('Пр')
    expect(
      await titleOf(latin1(titled('\x93\xe9\x94', '<?xml version="1.0" encoding="utf-8"?>'))),
    ).toBe('“é”')
    expect(await titleOf(latin1(titled('\xe9', '<?xml version="1.0" encoding="no-such"?>')))).toBe(
      'é',
    )
  })

  test('may be UTF-16, with or without a mark', async () => {
    const wide = Buffer.from(titled('é'), 'utf16le')
    expect(await titleOf(wide)).toBe('é')
    expect(await titleOf(Buffer.concat([Buffer.from([0xff, 0xfe]), wide]))).toBe('é')
    expect(
      await titleOf(Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(wide).swap16()])),
    ).toBe('é')
  })

  test('may be ISO-2022-JP', async () => {
    expect(await titleOf(titled('\x1b$B$\x22\x1b(B'))).toBe('あ')
  })

  test('is UTF-8 with one character that was cut', async () => {
    const bytes = Buffer.concat([Buffer.from(titled('äöüäöüäöüäöü')), Buffer.from([0xc3])])
    expect(await titleOf(bytes)).toBe('äöüäöüäöüäöü')
  })

  test('does not matter to a compressed document', async () => {
    expect(await titleOf(gzipSync(titled('é')))).toBe('é')
  })
})

describe('what stands around a document', () => {
  test.each([
    ['a mark and white space', `\ufeff \n${titled('a', '<?xml version="1.0"?>')}`],
    [
      'a warning of PHP',
      `<br />\n<b>Warning</b>: date() in <b>/x.php</b><br />\n${titled('a').replace('<rss>', '<rss version="2.0">')}`,
    ],
    ['text after its end', `${titled('a')}<br /><b>Fatal error</b><item><title>b</title></item>`],
    ['a missing end', titled('a').replace('</rss>', '')],
    ['style sheets', `<?xml-stylesheet href="x"?><!-- <rss> -->${titled('a')}`],
    ['a link in a comment', `<!-- made by <a href="x">y</a> -->\n${titled('a')}`],
    ['a DOCTYPE in a comment', `<!-- <!DOCTYPE rss [ -->\n${titled('a')}`],
    [
      'a DOCTYPE',
      titled(
        'a',
        '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://x.example/rss.dtd">',
      ),
    ],
    [
      'declarations with markup',
      titled(
        'a',
        '<!DOCTYPE rss [<!ENTITY x "<item><title>b</title></item>]>"> <!ENTITY y SYSTEM "file:///etc/passwd">]>',
      ),
    ],
  ])('%s does not matter', async (_, text) => {
    const { entries } = await documentOf(text)
    expect(entries.map(({ title }) => title)).toEqual(['a'])
  })

  test.each([
    ['a page', '<!DOCTYPE html><html><body>Sign in</body></html>', 'html'],
    ['another root', '<?xml version="1.0"?><error>no such forum</error>', 'root'],
    ['nothing', '', 'root'],
    ['text', 'hello', 'root'],
    ['JSON that is no feed', '{"error":"x"}', 'items'],
    ['JSON that is cut', '{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"', 'items'],
    ['deep XML', `<rss><channel>${'<x>'.repeat(200_000)}`, 'depth'],
    ['deep JSON', `{"items":${'['.repeat(100_000)}`, 'depth'],
    ['too many bytes', `<rss>${' '.repeat(5 * 1024 * 1024)}`, 'too_large'],
  ])('%s is unreadable', async (_, text, path) => {
    expect(await outcomeOf(text)).toEqual({ ok: false, fault: { kind: 'unreadable', path } })
  })

  test('a bomb of gzip is unreadable', async () => {
    const outcome = await outcomeOf(gzipSync(Buffer.alloc(50 * 1024 * 1024)))
    expect(outcome).toEqual({ ok: false, fault: { kind: 'unreadable', path: 'too_large' } })
  })

  test('a cut entry is left out', async () => {
    const { entries, is_cut } = await documentOf(
      '<rss><channel><item><title>a</title></item><item><title>b',
    )
    expect(entries.map(({ title }) => title)).toEqual(['a'])
    expect(is_cut).toBe(true)
  })

  test('entries beyond the bound are not read', async () => {
    const { entries, is_cut } = await documentOf(
      `<rss><channel>${'<item><title>a</title></item>'.repeat(2500)}</channel></rss>`,
    )
    expect([entries.length, is_cut]).toEqual([2000, true])
  })
})

describe('names of elements', () => {
  test('are told by the module, whatever the prefix', async () => {
    const root =
      'xmlns:x="http://purl.org/dc/elements/1.1/" xmlns:y="https://purl.org/rss/1.0/modules/content" xmlns:z="http://purl.org/rss/1.0/modules/slash/"'
    const found = await item(
      '<x:creator>ann</x:creator><y:encoded>text</y:encoded><z:comments>4</z:comments>',
      root,
    )
    expect(found).toMatchObject({ author: 'ann', html: 'text', comments: 4 })
  })

  test('are those of the usual prefix where none is declared', async () => {
    expect(
      await item('<dc:creator>ann</dc:creator><content:encoded>text</content:encoded>'),
    ).toMatchObject({ author: 'ann', html: 'text' })
  })

  test('do not depend on their case', async () => {
    const { entries } = await documentOf(
      '<RSS><Channel><Item><Title>a</Title><PUBDATE>2011-10-03</PUBDATE></Item></Channel></RSS>',
    )
    expect(entries).toMatchObject([{ title: 'a', published: at('2011-10-03') }])
  })

  test('of a source are those of another feed', async () => {
    const found = await entry(
      '<title>a</title><source><title>b</title><id>x</id><updated>2011-01-01T00:00:00Z</updated></source>',
    )
    expect(found).toMatchObject({ title: 'a', id: '', updated: null })
  })

  test('of an image are not those of the channel', async () => {
    const found = await documentOf(
      '<rss><channel><image><title>i</title><link>https://i.example/</link></image><title>c</title><link>https://c.example/</link></channel></rss>',
    )
    expect(found).toMatchObject({ title: 'c', link: 'https://c.example/', entries: [] })
  })
})

describe('formats', () => {
  test('RDF has its items beside the channel', async () => {
    const found = await documentOf(
      '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://a.example/"><title>A</title><link>https://a.example/</link><items><rdf:Seq><rdf:li rdf:resource="https://a.example/1"/></rdf:Seq></items></channel><item rdf:about="https://a.example/1"><title>one</title><link>https://a.example/1</link><dc:date>2011-10-03T01:02:03Z</dc:date><dc:subject>cs</dc:subject></item></rdf:RDF>',
    )
    expect(found).toMatchObject({
      format: 'rdf',
      title: 'A',
      entries: [
        {
          id: 'https://a.example/1',
          title: 'one',
          published: at('2011-10-03T01:02:03Z'),
          categories: ['cs'],
        },
      ],
    })
  })

  test('Atom 0.3 has other names and modes', async () => {
    const found = firstOf(
      await documentOf(
        `<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><title mode="escaped" type="text/html">a &amp;lt; b</title><issued>2004-01-02T03:04:05Z</issued><modified>2004-01-03T03:04:05Z</modified><content type="text/html" mode="base64">${btoa('<p>x</p>')}</content></entry></feed>`,
      ),
    )
    expect(found).toMatchObject({
      title: 'a < b',
      published: at('2004-01-02T03:04:05Z'),
      updated: at('2004-01-03T03:04:05Z'),
      html: '<p>x</p>',
    })
  })

  test('a feed whose elements all have a prefix is one of Atom', async () => {
    const found = await documentOf(
      '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:id>1</a:id><a:title>t</a:title></a:entry></a:feed>',
    )
    expect(found).toMatchObject({ format: 'atom', entries: [{ id: '1', title: 't' }] })
  })

  test('a JSON feed has ids that are numbers, and names with blanks', async () => {
    const found = await documentOf(
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 'T',
        home_page_url: 'https://a.example/',
        authors: [{ name: 'ann' }],
        items: [
          {
            id: 7,
            url: '/7',
            external_url: 'https://b.example/',
            content_text: 'a < b\nc',
            'date_modified ': '2011-10-03T01:02:03Z',
            tags: ['x', 1],
          },
        ],
      }),
    )
    expect(found).toMatchObject({
      format: 'json',
      entries: [
        {
          id: '7',
          link: 'https://b.example/',
          discussion: 'https://a.example/7',
          html: 'a &lt; b<br>\nc',
          updated: at('2011-10-03T01:02:03Z'),
          categories: ['x'],
          author: 'ann',
        },
      ],
    })
  })
})

describe('texts', () => {
  test.each([
    ['references in the XML', 'AT&amp;T', 'AT&T'],
    ['references that are escaped twice', 'AT&amp;amp;T &amp;#8217;', 'AT&T ’'],
    ['CDATA', '<![CDATA[a & b]]>', 'a & b'],
    ['CDATA within CDATA', '<![CDATA[a]]><![CDATA[b]]>', 'ab'],
    ['an unescaped sign', 'AT&T & b', 'AT&T & b'],
    ['references of HTML', 'caf&eacute;&nbsp;x', 'café x'],
    ['unknown references', 'a &xxe; b', 'a &xxe; b'],
    ['inline elements', '&lt;b&gt;bold&lt;/b&gt; &lt;br/&gt;x', 'bold x'],
    ['a type of a language', 'vector&lt;int&gt;', 'vector<int>'],
    ['unescaped markup', 'a <b>bold</b> word', 'a bold word'],
    ['control characters', 'a&#1;b&#x1b;c', 'abc'],
    ['lines', ' a\n\t b ', 'a b'],
  ])('a title of RSS with %s is plain', async (_, text, expected) => {
    expect((await item(`<title>${text}</title>`)).title).toBe(expected)
  })

  test.each([
    ['no type', '<title>&lt;br/> and &amp;amp;</title>', '<br/> and &amp;'],
    ['html', '<title type="html">&lt;b>x&lt;/b> &amp;amp; y</title>', 'x & y'],
    [
      'xhtml',
      '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">x <em>y</em> &amp; z</div></title>',
      'x y & z',
    ],
  ])('a title of Atom with %s is as its type says', async (_, field, expected) => {
    expect((await entry(field)).title).toBe(expected)
  })

  test('an empty title is none, and another module has one', async () => {
    expect((await item('<title/><media:title>m</media:title>')).title).toBe('m')
    expect((await item('<title></title>')).title).toBe('')
  })

  test.each([
    [
      'the whole text',
      '<description>short</description><content:encoded>&lt;p>long&lt;/p></content:encoded>',
      '<p>long</p>',
    ],
    [
      'the description where the text is empty',
      '<content:encoded></content:encoded><description>short</description>',
      'short',
    ],
    [
      'the description of a group',
      '<media:group><media:title>t</media:title><media:description>d</media:description></media:group>',
      'd',
    ],
    [
      'unescaped elements, some not closed',
      '<description><p>a<br>b<p>c</description>',
      '<p>a<br>b<p>c',
    ],
    [
      'HTML that was escaped twice',
      '<description>&amp;lt;p&amp;gt;a&amp;lt;/p&amp;gt;</description>',
      '<p>a</p>',
    ],
    ['CDATA in CDATA', '<description><![CDATA[a <![CDATA[b]]> c]]></description>', 'a b c'],
  ])('a text of RSS is %s', async (_, fields, expected) => {
    expect((await item(fields)).html).toBe(expected)
  })

  test('a text that is not closed ends with the next field', async () => {
    expect(
      await item('<description>a <b>x<pubDate>2011-10-03</pubDate><guid>1</guid>'),
    ).toMatchObject({ html: 'a <b>x', id: '1', published: at('2011-10-03') })
  })

  test.each([
    ['plain', '<content>a &lt; b\nc</content>', 'a &lt; b<br>\nc'],
    ['HTML without a type', '<content>&lt;p>a&lt;/p></content>', '<p>a</p>'],
    [
      'XHTML',
      '<content type="xhtml"><div><p>a &amp; b</p></div></content>',
      '<div><p>a &amp; b</p></div>',
    ],
    ['of another kind', '<content type="image/png" mode="base64">AAAA</content>', ''],
    ['a summary, without a content', '<summary type="html">&lt;p>s&lt;/p></summary>', '<p>s</p>'],
  ])('a text of Atom is %s', async (_, fields, expected) => {
    expect((await entry(fields)).html).toBe(expected)
  })

  test('an entry that is not closed ends with the next one', async () => {
    const { entries } = await documentOf(
      '<rss><channel><item><title>a</title><item><title>b</title></item></channel></rss>',
    )
    expect(entries.map(({ title }) => title)).toEqual(['a', 'b'])
  })

  test('a bad tag ends nothing', async () => {
    expect(await item('<title>a</title></foo><dc:creator>ann</dc:creator>')).toMatchObject({
      title: 'a',
      author: 'ann',
    })
  })
})

describe('authors', () => {
  test.each([
    ['<author>invalid@example.com (ann)</author>', 'ann'],
    ['<author>ann@example.com</author>', ''],
    ['<author>Ann Lee &lt;ann@example.com&gt;</author>', 'Ann Lee'],
    ['<author>ann</author><dc:creator>@bob</dc:creator>', 'bob'],
    ['<dc:creator>https://lemmy.example/u/ann</dc:creator>', 'ann'],
    ['<dc:creator>https://lemmy.example/u/member_1</dc:creator>', 'member_1'],
    ['<dc:creator>https://forum.example/@ann/</dc:creator>', 'ann'],
    ['<dc:creator>/u/ann</dc:creator>', 'ann'],
    ['<itunes:author>Ann</itunes:author>', 'Ann'],
    ['<author><name>ann</name><email>ann@example.com</email></author>', 'ann'],
    ['<title>x</title>', ''],
  ])('%s names the author', async (fields, expected) => {
    expect((await item(fields)).author).toBe(expected)
  })

  test('a link around a name is left out, and the feed has the author of an entry without one', async () => {
    expect(
      (
        await entry(
          '<author><name type="html"><![CDATA[<a href="https://x.example/u?a=1&b=2">ann</a>]]></name></author>',
        )
      ).author,
    ).toBe('ann')
    const found = await documentOf(
      '<feed xmlns="http://www.w3.org/2005/Atom"><author><name>owner</name></author><entry><id>1</id></entry></feed>',
    )
    expect(firstOf(found).author).toBe('owner')
  })
})

describe('links', () => {
  test.each([
    [
      'the alternate one',
      '<link rel="self" href="/self"/><link rel="alternate" type="application/json" href="/json"/><link rel="alternate" type="text/html" href="/a"/>',
      'https://forum.example/a',
    ],
    ['one without a relation', '<link href="b/c"/>', 'https://forum.example/b/c'],
    ['the base of the entry', '<link href="x"/>', 'https://forum.example/x'],
  ])('of Atom: %s', async (_, fields, expected) => {
    expect((await entry(fields)).link).toBe(expected)
  })

  test('bases are relative to those around them', async () => {
    const found = await entry(
      '<link href="x"/><content type="html" xml:base="c/">&lt;img src=a></content>',
      'xml:base="https://b.example/a/"',
    )
    expect(found).toMatchObject({ link: 'https://b.example/a/x', base: 'https://b.example/a/c/' })
  })

  test.each([
    [
      'the original one',
      '<link>https://proxy.example/1</link><feedburner:origLink>https://forum.example/1</feedburner:origLink>',
      'https://forum.example/1',
    ],
    ['a permalink', '<guid>https://forum.example/1</guid>', 'https://forum.example/1'],
    ['no guid that is none', '<guid isPermaLink="false">https://forum.example/1</guid>', ''],
    ['no address of another scheme', '<link>javascript:alert(1)</link>', ''],
    ['no word', '<link>undefined</link>', ''],
  ])('of RSS: %s', async (_, fields, expected) => {
    expect((await item(fields)).link).toBe(expected)
  })

  test.each([
    [
      'comments on the site of the feed',
      '<link>https://elsewhere.example/</link><comments>https://forum.example/s/1</comments><guid isPermaLink="false">x</guid>',
    ],
    [
      'a permalink on the site of the feed',
      '<link>https://elsewhere.example/</link><guid>https://forum.example/s/1</guid>',
    ],
  ])('a link that leads elsewhere has its discussion in %s', async (_, fields) => {
    expect(await item(fields)).toMatchObject({
      link: 'https://elsewhere.example/',
      discussion: 'https://forum.example/s/1',
    })
  })
})

test('a picture of the site itself has its discussion beside it', async () => {
  const page = 'https://forum.example/post/1'
  const found = await item(
    `<link>https://forum.example/p.png</link><guid>${page}</guid><comments>${page}</comments>`,
  )
  expect(found).toMatchObject({ link: 'https://forum.example/p.png', discussion: page })
})

test('categories are names, without kinds and numbers', async () => {
  const found = await entry(
    '<category scheme="http://schemas.google.com/g/2005#kind" term="http://schemas.google.com/blogger/2008/kind#post"/><category term="a" label="A"/><category term="12" label="News"/><category term=""/>',
  )
  expect(found.categories).toEqual(['a', 'News'])
})

test('hints are those of the channel', async () => {
  const { hints, generator, next } = await documentOf(
    '<rss><channel><ttl>60</ttl><sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency><skipHours><hour>1</hour><hour>24</hour><hour>99</hour></skipHours><skipDays><day>Sunday</day><day>x</day></skipDays><generator>vBulletin</generator><atom:link rel="next" href="https://forum.example/?page=2"/></channel></rss>',
  )
  expect(hints).toEqual({ ttl_s: 3600, skip_hours: [1, 0], skip_days: ['sunday'] })
  expect([generator.trim(), next]).toEqual(['vBulletin', 'https://forum.example/?page=2'])
})
