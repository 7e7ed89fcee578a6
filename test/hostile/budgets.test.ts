// Case 4 of issue 5: budgets that cut inside an emoji sequence, a combining mark, CJK and an escape. Every budget from 0 to
// the full size: never a broken character, never over budget, and the counts add up.

import { describe, expect, test } from 'vitest'
import { DshRefError, prepare, project, readSurface, retain, type Surface } from '../../src/index.ts'
import { retainNaively } from '../support/naive-retention.ts'
import { assistant, logOf, replacing, user } from '../support/rows.ts'

const TEXTS = {
  'emoji sequences': '👩‍👩‍👧‍👦🏳️‍🌈👍🏽'.repeat(6),
  'combining marks': 'e\u0301a\u0308\u0323o\u0302\u0303'.repeat(12),
  CJK: '会话日志，한국어の文字'.repeat(7),
  escapes: '"\\\n\t\u0001\u007f<tag>\u2028'.repeat(9),
  'a byte order mark at every place': '\ufeffx\ufeff'.repeat(20),
  'halves of pairs': 'a\ud83db\ude80\ud83d\ude80'.repeat(15),
  mixed: 'a"😀<界\\é\n'.repeat(12),
} as const

const bytesOf = (text: string) => Buffer.byteLength(text)
const sizeOf = (data: unknown) => bytesOf(JSON.stringify(data).replaceAll('<', '\\u003c'))

async function surfaceOf(text: string): Promise<Surface> {
  const checkpoint = user(`S ${text}`, replacing(4, 0, 1, [0, 1]), { kind: 'compact-checkpoint' })
  const log = logOf(4, [user('x'), assistant('y'), checkpoint, assistant(text), user(text), assistant(`${text}!`)])
  async function* bytes() {
    yield Buffer.from(log)
  }
  return readSurface({ kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' })
}

/** Bytes of a text that are its source's, checked to be its beginning and its end; throws when it is anything else. */
function keptBytes(text: string, source: string): number {
  if (text === source) return bytesOf(source)
  if (text === '') return 0
  const [, ends, omitted] = /^(.*)\n\[… omitted (\d+) UTF-8 bytes …\]$/su.exec(text) as RegExpExecArray
  const points = [...(ends as string)]
  for (let cut = 0; cut <= points.length; cut++) {
    const [head, tail] = [points.slice(0, cut).join(''), points.slice(cut).join('')]
    if (!source.startsWith(head) || !source.endsWith(tail)) continue
    const kept = bytesOf(head) + bytesOf(tail)
    if (kept + Number(omitted) === bytesOf(source)) return kept
  }
  throw new Error(`${JSON.stringify(text)} is not made of both ends of ${JSON.stringify(source)}`)
}

describe.each(Object.entries(TEXTS))('a session of %s', (_name, text) => {
  test('fits every budget from 0 to its full size, or is refused below the least there is', async () => {
    const surface = await surfaceOf(text)
    const { messages } = project(surface.messages)
    const source = { sessionId: 'made', label: text.slice(0, 20), cwd: '/work/app', capturedThroughSeq: 5, messages }
    const sources = messages.map((message) => message.text.toWellFormed())
    const full = sizeOf(retain(source, Number.MAX_SAFE_INTEGER).data)
    let least: number | undefined
    for (let budget = 0; budget <= full; budget++) {
      let retained: ReturnType<typeof retain>
      try {
        retained = retain(source, budget)
      } catch (error) {
        if (!(error instanceof DshRefError)) throw error
        expect(error).toMatchObject({ code: 'SESSION_REFERENCE_BUDGET_EXCEEDED', facts: { budgetBytes: budget } })
        expect(error.facts.neededBytes).toBeGreaterThan(budget)
        expect(least).toBeUndefined()
        continue
      }
      least ??= budget
      const { data, facts, bytes } = retained
      expect(bytes).toBeLessThanOrEqual(budget)
      expect(sizeOf(data)).toBe(bytes)
      expect(JSON.stringify(data).isWellFormed() && !/\\ud[89a-f]/.test(JSON.stringify(data))).toBe(true)
      expect(facts.retainedMessages + facts.omittedMessages).toBe(messages.length)
      expect(data.conversation).toHaveLength(facts.retainedMessages)
      // The checkpoint is the first message and always stays; what is dropped are the oldest of the others.
      const stayed = [0, ...sources.keys()].filter((at, place) => place === 0 || at > facts.omittedMessages)
      const kept = data.conversation.map((item, at) => keptBytes(item.text, sources[stayed[at] as number] as string))
      const total = sources.reduce((sum, each) => sum + bytesOf(each), 0)
      expect(kept.reduce((sum, each) => sum + each, 0) + facts.omittedBytes).toBe(total)
      expect(facts.truncated).toBe(budget < full)
    }
    expect(least).toBeGreaterThan(0)
  })

  test('is cut as the rule says, word for word, at every budget', async () => {
    const { messages } = project((await surfaceOf(text.slice(0, 24))).messages)
    const source = { sessionId: 'made', label: 'made', cwd: null, capturedThroughSeq: 5, messages }
    const full = sizeOf(retain(source, Number.MAX_SAFE_INTEGER).data)
    for (let budget = 0; budget <= full; budget++) {
      const naive = retainNaively(source, budget)
      if ('refused' in naive) expect(() => retain(source, budget)).toThrow(DshRefError)
      else expect(retain(source, budget)).toEqual(naive)
    }
  })
})

test('a message prepared at any budget holds the JSON of exactly the data it counts', async () => {
  const surface = await surfaceOf(TEXTS.mixed)
  const full = sizeOf((await prepare({ message: '', references: [{ surface }], roots: [] })).sources[0]?.data)
  let prepared = 0
  for (let maxReferenceBytes = 1; maxReferenceBytes <= full; maxReferenceBytes++) {
    try {
      const { additionalContext, sources } = await prepare({
        message: '',
        references: [{ surface }],
        roots: [],
        maxReferenceBytes,
      })
      const text = additionalContext[0]?.content[0]?.text as string
      const json = /<referenced-sessions>\n(.*)\n<\/referenced-sessions>/.exec(text)?.[1] as string
      expect(JSON.parse(json)).toEqual([sources[0]?.data])
      expect(bytesOf(json) - '[]'.length).toBe(sources[0]?.usedBytes)
      expect(bytesOf(json) - '[]'.length).toBeLessThanOrEqual(maxReferenceBytes)
      prepared++
    } catch (error) {
      expect(error).toMatchObject({ code: 'SESSION_REFERENCE_BUDGET_EXCEEDED' })
    }
  }
  expect(prepared).toBeGreaterThan(full / 2)
})
