// Retention by hand-written examples; against a second implementation in properties/retain.test.ts.
import { Buffer } from 'node:buffer'
import { describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { type Retained, type RetainSource, retain } from '../../src/retain/retain.ts'
import { tagSafeJson } from '../../src/text/json-bytes.ts'
import type { ProjectedMessage } from '../../src/types.ts'

function say(text: string, fields: Partial<ProjectedMessage> = {}): ProjectedMessage {
  return { seq: 0, role: 'user', text, checkpoint: false, ...fields }
}

function checkpoint(text: string): ProjectedMessage {
  return say(text, { checkpoint: true })
}

function sourceOf(messages: readonly ProjectedMessage[], fields: Partial<RetainSource> = {}): RetainSource {
  return { sessionId: 's', label: 'S', cwd: null, capturedThroughSeq: 9, messages, ...fields }
}

function textsOf(retained: Retained): string[] {
  return retained.data.conversation.map((message) => message.text)
}

/** Bytes of a source with nothing cut. */
function fullBytes(source: RetainSource): number {
  return retain(source, Number.MAX_SAFE_INTEGER).bytes
}

describe('retain()', () => {
  it('keeps everything that fits exactly, in the key order of the format', () => {
    const source = sourceOf([say('question <1>'), say('answer', { role: 'assistant' })], { cwd: '/w' })
    const written =
      '{"sessionId":"s","label":"S","cwd":"/w","capturedThroughSeq":9,"conversation":' +
      '[{"role":"user","text":"question \\u003c1>"},{"role":"assistant","text":"answer"}]}'
    const retained = retain(source, written.length)
    expect(tagSafeJson(retained.data)).toBe(written)
    expect(retained.bytes).toBe(written.length)
    expect(retained.facts).toEqual({
      compacted: false,
      originalMessages: 2,
      retainedMessages: 2,
      omittedMessages: 0,
      omittedBytes: 0,
      truncated: false,
    })
  })

  it('drops the oldest first, but no checkpoint and not the newest', () => {
    const source = sourceOf([say('oldest'), checkpoint('summary'), say('older'), say('old'), say('newest')])
    const all = fullBytes(source)
    expect(textsOf(retain(source, all - 1))).toEqual(['summary', 'older', 'old', 'newest'])
    const { facts, ...rest } = retain(source, all - '{"role":"user","text":"oldest"},'.length - 1)
    expect(textsOf({ facts, ...rest })).toEqual(['summary', 'old', 'newest'])
    expect(facts).toEqual({
      compacted: true,
      originalMessages: 5,
      retainedMessages: 3,
      omittedMessages: 2,
      omittedBytes: 'oldestolder'.length,
      truncated: true,
    })
  })

  it('drops a large old message even where smaller, older ones would fit', () => {
    const source = sourceOf([say('a'), say('b'.repeat(500)), say('c'), say('d')])
    expect(textsOf(retain(source, 200))).toEqual(['c', 'd'])
  })

  it('cuts the middle out of what it may not drop and says how much', () => {
    const source = sourceOf([say('abcdefghij'.repeat(10))])
    const retained = retain(source, fullBytes(source) - 40)
    // 60 bytes are left, 33 of them for the line. The escape of its newline takes one more, so 26 of content remain.
    expect(textsOf(retained)).toEqual(['abcdefghijabchijabcdefghij\n[… omitted 74 UTF-8 bytes …]'])
    expect(retained.facts.omittedBytes).toBe(74)
    expect(retained.facts.omittedMessages).toBe(0)
    expect(retained.facts.truncated).toBe(true)
  })

  it('cuts the largest, the first of equals', () => {
    const source = sourceOf([checkpoint('a'.repeat(60)), checkpoint('é'.repeat(40)), say('c'.repeat(80))])
    const texts = textsOf(retain(source, fullBytes(source) - 10))
    expect(texts[0]).toBe('a'.repeat(60))
    expect(texts[1]).toBe(`${'é'.repeat(18)}\n[… omitted 44 UTF-8 bytes …]`)
    expect(texts[2]).toBe('c'.repeat(80))
  })

  it('cuts the next largest too when the escape of the new line leaves it one byte too large', () => {
    const source = sourceOf([checkpoint('b'.repeat(80)), say('c'.repeat(80))])
    expect(textsOf(retain(source, fullBytes(source) - 10))).toEqual([
      `${'b'.repeat(37)}\n[… omitted 43 UTF-8 bytes …]`,
      `${'c'.repeat(45)}\n[… omitted 35 UTF-8 bytes …]`,
    ])
  })

  it('empties a text that has no room for the omission line', () => {
    const source = sourceOf([say('short text')])
    const retained = retain(source, fullBytes(source) - 1)
    expect(textsOf(retained)).toEqual([''])
    expect(retained.facts.omittedBytes).toBe(10)
    expect(retained.facts.retainedMessages).toBe(1)
  })

  it('never cuts through a code point and never loses a byte order mark', () => {
    const text = '\ufeff界🚀é'.repeat(40)
    const source = sourceOf([say(text)])
    const points = Array.from(text)
    for (let budget = 130; budget < fullBytes(source); budget++) {
      const [cut = ''] = textsOf(retain(source, budget))
      if (cut === '') continue
      const content = Array.from(cut.slice(0, cut.lastIndexOf('\n')))
      const omitted = Number(/omitted (\d+) UTF-8/.exec(cut)?.[1])
      expect(Buffer.byteLength(content.join('')) + omitted).toBe(Buffer.byteLength(text))
      const dropped = points.length - content.length
      const isEnds = content.some((_, head) => {
        const ends = [...points.slice(0, head), ...points.slice(head + dropped)]
        return ends.join('') === content.join('')
      })
      expect(content.length === 0 || isEnds).toBe(true)
    }
  })

  it('makes text, label, cwd and id well-formed before it measures', () => {
    const source = sourceOf([say('a\ud800'), say('\udc00b')], { sessionId: '\ud800', label: '\ud800', cwd: '/\udfff' })
    const { data, bytes } = retain(source, 1000)
    expect(data).toEqual({
      sessionId: '\ufffd',
      label: '\ufffd',
      cwd: '/\ufffd',
      capturedThroughSeq: 9,
      conversation: [
        { role: 'user', text: 'a\ufffd' },
        { role: 'user', text: '\ufffdb' },
      ],
    })
    expect(bytes).toBe(Buffer.byteLength(tagSafeJson(data)))
    expect(retain(source, bytes).facts.truncated).toBe(false)
  })

  it('takes an empty conversation and an empty log', () => {
    const source = sourceOf([], { capturedThroughSeq: null })
    const written = '{"sessionId":"s","label":"S","cwd":null,"capturedThroughSeq":null,"conversation":[]}'
    expect(tagSafeJson(retain(source, written.length).data)).toBe(written)
    expect(() => retain(source, written.length - 1)).toThrow(DshRefError)
  })

  it('refuses below the size of empty texts, and not at it', () => {
    const source = sourceOf([say('dropped'), checkpoint('x'.repeat(100)), say('y'.repeat(200))])
    const neededBytes = fullBytes(sourceOf([checkpoint(''), say('')]))
    expect(textsOf(retain(source, neededBytes))).toEqual(['', ''])
    try {
      retain(source, neededBytes - 1)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(DshRefError)
      expect(error).toMatchObject({
        code: 'SESSION_REFERENCE_BUDGET_EXCEEDED',
        facts: { sessionId: 's', budgetBytes: neededBytes - 1, neededBytes },
        message: `Session "s" takes ${neededBytes} bytes even with every text cut to nothing, more than its budget of ${neededBytes - 1}; raise maxReferenceBytes to at least ${neededBytes}`,
      })
    }
  })

  it('leaves its input as it was', () => {
    const source = sourceOf([checkpoint('x'.repeat(100)), say('\ud800'.repeat(100))])
    const before = structuredClone(source)
    retain(source, 200)
    expect(source).toEqual(before)
  })

  // Serialising the whole for each dropped or cut message takes minutes here.
  it('drops 20,000 messages in near-linear time', { timeout: 20_000 }, () => {
    const messages = Array.from({ length: 20_000 }, (_, seq) => say(`<${seq}> "é界" `.padEnd(400, 'x'), { seq }))
    const start = performance.now()
    const { bytes, facts } = retain(sourceOf(messages), 65_536)
    expect(performance.now() - start).toBeLessThan(3000)
    expect(bytes).toBeLessThanOrEqual(65_536)
    expect(facts.retainedMessages + facts.omittedMessages).toBe(20_000)
  })

  for (const [what, overflow] of [
    ['by far too large', 1_200_000],
    ['one byte too large', 1],
    ['half too large', 600_000],
  ] as const) {
    it(`cuts 10,000 checkpoints ${what} in near-linear time`, { timeout: 20_000 }, () => {
      const messages = Array.from({ length: 10_000 }, (_, seq) => checkpoint(`${seq} `.padEnd(120 + (seq % 7), 'é')))
      const source = sourceOf(messages)
      const budget = fullBytes(source) - overflow
      const start = performance.now()
      expect(retain(source, budget).bytes).toBeLessThanOrEqual(budget)
      expect(performance.now() - start).toBeLessThan(3000)
    })
  }
})
