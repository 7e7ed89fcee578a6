// Where surface rows are kept, and what is left of a row when memory is short.

import { describe, expect, test } from 'vitest'
import { KeptRows } from '../../src/decode/kept-row.ts'
import { MemoryRowStore } from '../../src/decode/row-store.ts'
import { assistant, logOf, type MadeRow, system, toolResult, toolResult4, user } from '../support/rows.ts'

const MIB = 1024 * 1024

/** Keeps the text whole, as a row in the middle of other bytes. */
function keep(store: MemoryRowStore, text: string): number {
  const bytes = Buffer.from(`<${text}>`)
  const handle = store.keep(bytes, 1, bytes.length - 1)
  bytes.fill(0)
  return handle
}

const textOf = (store: MemoryRowStore, handle: number) => Buffer.from(store.read(handle)).toString()

describe('MemoryRowStore', () => {
  test('gives back rows of every size as they were, whatever was kept and released around them', () => {
    const store = new MemoryRowStore(() => undefined, Number.POSITIVE_INFINITY)
    const kept = new Map<number, string>()
    for (let index = 0; index < 3000; index++) {
      const text = `${index}:`.repeat(index % 100 === 0 ? 100_000 : index % 700)
      kept.set(keep(store, text), text)
      const oldest = kept.keys().next().value as number
      if (index % 3 !== 0) {
        expect(textOf(store, oldest)).toBe(kept.get(oldest))
        store.release(oldest)
        kept.delete(oldest)
      }
    }
    for (const [handle, text] of kept) expect(textOf(store, handle)).toBe(text)
  })

  test('slims no row before there is too much of them, and never the row that is at hand', () => {
    const slimmed: string[] = []
    const store = new MemoryRowStore((row) => {
      slimmed.push(Buffer.from(row.subarray(0, 2)).toString())
      return row.subarray(0, 2)
    }, 4 * MIB)
    for (let index = 0; index < 10; index++) {
      const handle = keep(store, `${index}!${'x'.repeat(MIB)}`)
      // Four rows of a little more than 1 MiB are above the limit; the next row to come makes them slim.
      expect(slimmed.length > 0).toBe(index >= 4)
      expect(slimmed).not.toContain(`${index}!`)
      expect(textOf(store, handle).length).toBe(MIB + 2)
    }
  })

  test('lets survivors hold on to no more than twice the memory they need', () => {
    const store = new MemoryRowStore(() => undefined, 2 * MIB)
    const before = process.memoryUsage().arrayBuffers
    const survivors: number[] = []
    for (let index = 0; index < 100_000; index++) {
      const handle = keep(store, `${index}:`.padEnd(2000, 'x'))
      // One row of 500 survives: every MiB of rows has one in it.
      if (index % 500 === 0) survivors.push(handle)
      else store.release(handle)
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB)
    expect(survivors.map((handle) => Number.parseInt(textOf(store, handle), 10))).toEqual(
      survivors.map((_, at) => at * 500),
    )
  })

  test('takes a row that is released twice for a bug', () => {
    const store = new MemoryRowStore(() => undefined, 0)
    const handle = keep(store, 'row')
    store.release(handle)
    expect(() => store.release(handle)).toThrow('A row was released twice')
  })
})

describe('KeptRows.slim()', () => {
  /** The data of a row and of what is left of it. */
  function slim(row: MadeRow, texts: 'all' | 'conversation' = 'all', version = 4): unknown {
    const line = logOf(version, [row]).split('\n')[1] as string
    const left = new KeptRows(version, texts).slim(Buffer.from(line))
    return left && JSON.parse(Buffer.from(left).toString()).data
  }

  test('leaves of a message what tells its kind, its source and its text', () => {
    const { data, ...rest } = assistant('answer')
    const { message } = data as { message: { content: unknown[]; source: object } }
    const content = [
      { type: 'reasoning', text: 'thought' },
      ...message.content,
      { type: 'tool-call', id: 'c1', name: 'bash', arguments: '{}' },
      { type: 'text', text: 7 },
    ]
    const row = { ...rest, data: { ...(data as object), usage: { tokens: 1 }, message: { ...message, content } } }
    const left = slim(row) as { message: { content: unknown; source: object } }
    expect(left).toMatchObject({ usage: 0, message: { id: 'a-answer', role: 'assistant', source: { kind: 'model' } } })
    expect(left.message.content).toEqual([
      { type: 'reasoning', text: 'thought' },
      { type: 'text', text: 'answer' },
      { type: 'tool-call', id: 0, name: 0, arguments: 0 },
      { type: 'text', text: 7 },
    ])
  })

  test('leaves of a tool result all that a rewrite may not change', () => {
    const row = toolResult4('long output', {}, { isError: true, extra: [1, { deep: null }] })
    const data = { ...(row.data as object), meta: { path: 'a', __proto__: null } }
    expect(slim({ ...row, data }, 'conversation')).toEqual({
      ...data,
      message: { ...(row.data as { message: object }).message, content: [] },
    })
    expect(slim({ ...row, data }, 'all')).toBeUndefined()
  })

  test('leaves of a wrapped tool result its wrapper', () => {
    const wrapper = { type: 'tool-result', toolCallId: 'c1', isError: false, content: [] }
    expect(slim(toolResult('x'.repeat(50)), 'conversation', 3)).toMatchObject({ message: { content: [wrapper] } })
  })

  test('drops texts that projection drops only when nobody asked for them', () => {
    expect(slim(system('be brief'), 'conversation')).toMatchObject({ message: { content: [] } })
    expect(JSON.stringify(slim(user('hello', {}, { kind: 'user', more: 'of it' }), 'conversation'))).toContain('hello')
  })

  test('leaves of a tool result a number that JSON cannot write again', () => {
    const line = logOf(4, [toolResult4('x'.repeat(50), {}, { extra: 'HERE' })]).split('\n')[1] as string
    const left = new KeptRows(4, 'conversation').slim(Buffer.from(line.replace('"HERE"', '1e400')))
    expect(Buffer.from(left ?? []).toString()).toContain('"extra":1e400')
  })

  test.each([
    ['nests deeper than the stack', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['is spelled with blanks', '[ ]'],
  ])('leaves alone a tool result that %s', (_what, json) => {
    const line = logOf(4, [toolResult4('x'.repeat(50), {}, { extra: 'HERE' })]).split('\n')[1] as string
    expect(new KeptRows(4, 'conversation').slim(Buffer.from(line.replace('"HERE"', json)))).toBeUndefined()
  })

  test('leaves alone what is no record, and a message with a wrong shape', () => {
    expect(new KeptRows(4, 'all').slim(Buffer.from('{"type":"user/message"'))).toBeUndefined()
    const { data, ...rest } = assistant('answer')
    expect(slim({ ...rest, data: { ...(data as object), usage: {}, message: { role: 'assistant' } } })).toBeUndefined()
  })
})
