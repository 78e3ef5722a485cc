import { describe, expect, test } from 'bun:test'

import {
  LANGUAGE_CODES,
  languageOf,
  languageOfText,
} from '../../../../src/core/enrichment/language.ts'
import { commentOf, postOf } from '../../../support/items.ts'

describe('a text of some length', () => {
  test.each([
    ['en', 'What is the best way to learn Rust in 2026?'],
    ['de', 'Warum ist die Bahn schon wieder zu spät, weiß das jemand?'],
    ['fr', 'Pourquoi le train est encore en retard ce matin'],
    ['es', 'Mi gato siempre tira cosas de la estantería'],
    ['pt', 'Alguém conhece um bom teclado mecânico?'],
    ['it', 'Il mio gatto butta sempre giù le cose'],
    ['pl', 'Czy ktoś zna dobrą klawiaturę mechaniczną?'],
    ['tr', 'İyi bir mekanik klavye bilen var mı?'],
    ['ja', 'おすすめのメカニカルキーボードを教えてください。よろしくお願いします'],
    ['zh', '有没有人推荐一款好用的机械键盘谢谢大家预算一百块以内'],
    ['ko', '좋은 기계식 키보드 추천해 주실 수 있나요 부탁드립니다'],
    ['ar', 'هل يعرف أحد لوحة مفاتيح ميكانيكية جيدة'],
    ['hi', 'क्या कोई अच्छा मैकेनिकल कीबोर्ड जानता है'],
  ])('has the language %s: %p', (code, text) => {
    expect(languageOfText(text)).toBe(code)
  })

  test.each([
    ['too few letters', 'Wo ist mein Auto?'],
    ['no letters at all', '1234567890 1234567890 1234567890 !!!'],
    ['one letter many times', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
    ['nothing but names', 'BTC ETH SOL DOGE ADA XRP DOT LTC LINK'],
    ['an address', 'https://www.example.com/wie-ist-das-wetter-heute-in-berlin'],
  ])('has no detectable language with %s', (_, text) => {
    expect(languageOfText(text)).toBeNull()
  })
})

test('a post is read with its title and visible text, a comment by its own text alone', () => {
  const german = 'Meine Katze wirft ständig Sachen vom Regal'

  expect(languageOf(postOf({ title: german }))).toBe('de')
  expect(languageOf(postOf({ title: 'Katze', text: `**${german}**` }))).toBe('de')
  expect(languageOf(commentOf({ body: 'ja', link_title: german }))).toBeNull()
  expect(languageOf(commentOf({ body: german, link_title: 'My cat is strange again' }))).toBe('de')
})

test('the codes have two letters, in order, without duplicates', () => {
  expect(LANGUAGE_CODES.filter((it) => !/^[a-z]{2}$/.test(it))).toEqual([])
  expect([...new Set(LANGUAGE_CODES)].toSorted()).toEqual([...LANGUAGE_CODES])
})
