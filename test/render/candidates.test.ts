// The list as a table and as tab-separated lines: what aligns, what is cut, what is never sent.

import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import { type CandidateRow, renderTable, type TableOptions, tsvField } from '../../src/render/candidates.ts'

/** What a terminal acts on, or nobody sees; the space between lines is not in question. */
const UNSAFE_FOR_TERMINALS =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udfff](?![\udc00-\udfff])(?<![\ud800-\udbff][\udc00-\udfff])/

const row = (more: Partial<CandidateRow> = {}): CandidateRow => ({
  sessionId: '550e8400-e29b-41d4-a716-446655440000',
  label: 'Fix the login',
  cwd: '/home/me/work/shop',
  createdAt: new Date(2026, 10, 30, 8, 5).getTime(),
  updatedAt: new Date(2026, 10, 30, 9, 59).getTime(),
  sizeBytes: 12_345,
  formatVersion: 4,
  health: 'ok',
  ...more,
})

const look = (more: Partial<TableOptions> = {}): TableOptions => ({
  isLong: false,
  hasHeader: true,
  hasColor: false,
  columns: undefined,
  home: '/home/me',
  ...more,
})

const table = async (rows: readonly CandidateRow[], options: Partial<TableOptions> = {}) =>
  (await renderTable(rows, look(options))).split('\n').slice(0, -1)

/** Titles as people have them, of many widths. */
const TITLES = [
  'Plain title',
  '修复登录页面的重定向',
  'إصلاح صفحة تسجيل الدخول',
  '👩‍👩‍👧 family 🇩🇪 flag ❤️',
  'Ångström e\u0301 combining',
  '한국어 제목',
  'ｶﾞ half width',
  '',
]

describe('a table', () => {
  test('shows what tells sessions apart, and with --long everything', async () => {
    expect(await table([row()])).toEqual([
      'LABEL          ID                                    CWD          CREATED',
      'Fix the login  550e8400-e29b-41d4-a716-446655440000  ~/work/shop  2026-11-30 08:05',
    ])
    const origin = { origin: 'subagent', parentSession: 'parent-1' }
    expect(await table([row({ sessionId: 'a', ...origin }), row({ sessionId: 'b' })], { isLong: true })).toEqual([
      'HEALTH  LABEL          ID  CWD          CREATED           UPDATED           SIZE  VERSION  ORIGIN    PARENT',
      'ok      Fix the login  a   ~/work/shop  2026-11-30 08:05  2026-11-30 09:59   12K        4  subagent  parent-1',
      'ok      Fix the login  b   ~/work/shop  2026-11-30 08:05  2026-11-30 09:59   12K        4  -         -',
    ])
  })

  test('of no rows is nothing, not even a header', async () => {
    expect(await renderTable([], look())).toBe('')
  })

  test('shows the health of all when that of one is not what it should be', async () => {
    expect((await table([row(), row({ health: 'corrupt' })]))[1]).toMatch(/^ok {7}Fix/)
    expect((await table([row(), row()]))[1]).toMatch(/^Fix/)
  })

  test('says nothing of what is not known, and survives times that are none', async () => {
    const { cwd: _cwd, createdAt: _created, updatedAt: _updated, ...bare } = row()
    expect((await table([bare], { isLong: true, hasHeader: false }))[0]).toMatch(
      /^ok {2}Fix the login {2}\S+ {2}- {2}- {2}- {2}12K {2}4 {2}- {2}-$/,
    )
    expect((await table([row({ createdAt: Number.MAX_SAFE_INTEGER })]))[1]).toMatch(/ -$/)
  })

  test.each([
    [0, '0B'],
    [999, '999B'],
    [1000, '1.0K'],
    [10_240, '10K'],
    [1_023_999, '1.0M'],
    [5 * 1024 ** 3, '5.0G'],
    [2 ** 62, '4096P'],
  ])('writes %d bytes as %s', async (sizeBytes, expected) => {
    expect((await table([row({ sizeBytes })], { isLong: true }))[1]).toContain(`  ${expected}  `)
  })

  test.each([
    ['/home/me', '~'],
    ['/home/me/x', '~/x'],
    ['/home/meow', '/home/meow'],
    ['C:\\work', 'C:\\work'],
  ])('writes the directory %s as %s', async (cwd, expected) => {
    expect((await table([row({ cwd })]))[1]).toContain(`  ${expected}  `)
  })

  test.each([undefined, 200, 120, 80, 60, 40])('of %s columns aligns titles of every width', async (columns) => {
    const rows = TITLES.map((label) => row({ label }))
    const lines = await table(rows, { columns })
    const starts = lines.map((line) => stringWidth(line.slice(0, line.lastIndexOf(' 2026-') + 1)))
    expect(new Set(starts.slice(1)).size).toBe(1)
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns ?? 1000)
  })

  test('of few columns cuts titles at their end and directories at their beginning, ids last', async () => {
    const rows = [row({ label: '修复登录页面的重定向和会话', cwd: '/home/me/very/deep/directory/of/work/shop' })]
    expect((await table(rows, { columns: 95 }))[1]).toMatch(
      /^修复登录页面的重定向和… +550e8400-e29b-41d4-a716-446655440000 {2}…\S+\/work\/shop {2}2026/,
    )
    const narrow = (await table(rows, { columns: 70 }))[1] as string
    expect(narrow).toMatch(/^修\S*…\s+550e8400-\S*… {2}…\S*shop {2}2026-11-30 08:05$/)
    for (const columns of [1, 5, 20]) {
      for (const line of await table(rows, { columns })) expect(stringWidth(line)).toBeLessThanOrEqual(columns)
    }
  })

  test('never sends a control, escape or bidi character', async () => {
    const hostile = '\u001b]0;owned\u0007\u001b[2J\r\n\t\u202egnp.exe\u2066\u0000\u009b1m\ud800'
    const rows = [row({ label: hostile, sessionId: hostile, cwd: hostile, origin: hostile, parentSession: hostile })]
    for (const options of [{}, { columns: 80 }, { isLong: true, columns: 200 }]) {
      const lines = (await renderTable(rows, look(options))).split('\n')
      expect(lines).toHaveLength(3)
      expect(lines.join('')).not.toMatch(UNSAFE_FOR_TERMINALS)
    }
    expect((await table(rows))[1]).toContain('\\u001b]0;owned\\u0007\\u001b[2J\\r\\n\\t\\u202egnp.exe')
  })

  test('is not pushed apart by one endless title', async () => {
    const lines = await table([row({ label: '會'.repeat(100_000) }), row()])
    expect(stringWidth(lines[1] as string)).toBe(119 + 2 + 36 + 2 + 11 + 2 + 16)
    expect(lines[1]).toContain('會…  550e8400')
  })

  test('is coloured without a change of its text', async () => {
    const rows = [row({ health: 'torn' }), row({ health: 'corrupt' }), row()]
    const colored = await renderTable(rows, look({ hasColor: true, columns: 120 }))
    const escapes = /\u001b\[\d+m/g
    expect(colored.replace(escapes, '')).toBe(await renderTable(rows, look({ columns: 120 })))
    expect(colored.match(escapes)?.length).toBeGreaterThan(6)
  })
})

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at))

describe('the width of a simple text', () => {
  test('is the one the library finds', async () => {
    // Every character of the basic plane and of emoji alone, and some together; a table shows how wide a label was taken to be.
    const characters = [...range(0, 0xffff), ...range(0x1f000, 0x1fbff)].filter((c) => !UNSAFE_FOR_TERMINALS.test(c))
    for (let at = 0; at < characters.length; at += 25) {
      for (const label of [characters.slice(at, at + 25).join(' '), characters[at] as string]) {
        const [line] = await table([row({ label, sessionId: '#' })], { hasHeader: false })
        const start = (line as string).lastIndexOf('#')
        expect([label, stringWidth((line as string).slice(0, start))]).toEqual([
          label,
          Math.min(120, stringWidth(label)) + 2,
        ])
      }
    }
  })
})

describe('a tab-separated field', () => {
  test.each([
    [undefined, ''],
    ['', ''],
    ['a b', 'a b'],
    ['a\tb\nc\rd\\t', 'a\\tb\\nc\\rd\\\\t'],
    [12, '12'],
    [true, 'true'],
    [[{ kind: 'torn-tail' }], '[{"kind":"torn-tail"}]'],
    ['会\u202e', '会\u202e'],
  ])('of %j is %s', async (value, expected) => {
    expect(tsvField(value)).toBe(expected)
  })
})
