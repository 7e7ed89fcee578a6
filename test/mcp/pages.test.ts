import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PageEntry, pageOf } from '../../src/mcp/pages.ts'
import type { ProjectedMessage } from '../../src/types.ts'

const message = (seq: number, text: string): ProjectedMessage => ({ seq, role: 'user', text, checkpoint: false })

/** All pages, one after the other. */
function pagesOf(messages: readonly ProjectedMessage[], maxBytes: number): PageEntry[][] {
  const pages: PageEntry[][] = []
  let cursor: string | undefined
  do {
    const page = pageOf(messages, cursor, maxBytes)
    pages.push([...page.entries])
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}

describe('pages of a transcript', () => {
  test('give every text back, none above its size, whatever the texts are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 60 })),
        fc.integer({ min: 4, max: 80 }),
        (texts, size) => {
          const messages = texts.map((text, index) => message(index * 3, text))
          const pages = pagesOf(messages, size)
          const read = new Map<number, string>()
          for (const page of pages) {
            expect(page.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)).toBeLessThanOrEqual(size)
            for (const { seq, text, offset = 0 } of page) {
              expect(offset).toBe(read.get(seq)?.length ?? 0)
              read.set(seq, (read.get(seq) ?? '') + text)
            }
          }
          expect([...read.values()]).toEqual(texts)
        },
      ),
    )
  })

  test('keep a message whole when a page of its own holds it', () => {
    const pages = pagesOf([message(1, 'aaaaaa'), message(5, 'bbbbbb')], 8)
    expect(pages).toEqual([[{ seq: 1, role: 'user', text: 'aaaaaa' }], [{ seq: 5, role: 'user', text: 'bbbbbb' }]])
  })

  test('cut a longer message between two code points and say so', () => {
    expect(pagesOf([message(7, 'ab😀cd')], 5)).toEqual([
      [{ seq: 7, role: 'user', text: 'ab', continues: true }],
      [{ seq: 7, role: 'user', text: '😀c', offset: 2, continues: true }],
      [{ seq: 7, role: 'user', text: 'd', offset: 5 }],
    ])
  })

  test('refuse a cursor whose message is no longer there', () => {
    for (const cursor of ['9:0', '1:99', 'x', '', '1:-1', '1']) {
      expect(() => pageOf([message(1, 'text')], cursor, 100), cursor).toThrow('leads to no message')
    }
  })

  test('are one empty page for a session in which nothing was said', () => {
    expect(pageOf([], undefined, 100)).toEqual({ entries: [], nextCursor: undefined })
  })
})
