// Sessions without a title: everywhere a person reads they are known by how they began, and to programs by their id.

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderPick } from '../../src/render/pick.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { type InProcessOptions, run } from '../support/program.ts'

const DIM = /\u001b\[2m(.*?)\u001b\[22m/g

const home = makeHome()
const cache = mkdtempSync(join(tmpdir(), 'dsh-ref-untitled-'))

beforeAll(() => {
  home.write(chatLog('titled', [{ title: 'Fix the login' }, { user: 'Why does it loop?' }]))
  home.write(
    chatLog('plain', [{ assistant: 'Hello.' }, { user: '\n  Why does\tthe page\n\nloop?' }, { user: 'Well?' }]),
  )
  home.write(chatLog('odd', [{ user: ' \n' }, { user: 'red \u001b[31mtext\u202e' }]))
  home.write(chatLog('long', [{ user: `${'x'.repeat(198)}😀 and so on` }]))
  home.write(
    chatLog('compacted', [
      { assistant: 'x' },
      { checkpoint: 'What was said before', from: 0, to: 0, sources: [0] },
      { user: 'y' },
    ]),
  )
  home.write(chatLog('silent', [{ assistant: 'Nobody asked.' }]))
})

afterAll(() => {
  home.remove()
  rmSync(cache, { recursive: true, force: true })
})

const dshRef = async (args: readonly string[], options: InProcessOptions = {}) => {
  const env = { DSH_REF_CACHE_DIR: cache, TZ: 'UTC', NO_COLOR: '', DSH_REF_ROOT: home.root, ...options.env }
  const { stdout } = await run(args, { ...options, env })
  return stdout
}

const OPENINGS = {
  compacted: 'y',
  long: `${'x'.repeat(198)}…`,
  odd: 'red \u001b[31mtext\u202e',
  plain: 'Why does the page loop?',
  silent: undefined,
  titled: 'Why does it loop?',
}

describe('a list', () => {
  test('shows how a session without a title began, marked as no title', async () => {
    const lines = (await dshRef(['list'])).split('\n')
    const shown = lines.filter((line) => line !== '').map((line) => line.split(/ {2,}/)[0])
    expect(shown.sort()).toEqual([
      '(no title) Why does the page loop?',
      '(no title) red \\u001b[31mtext\\u202e',
      `(no title) ${'x'.repeat(29)}…`,
      '(no title) y',
      'Fix the login',
      'silent',
    ])
  })

  test('dims it on a terminal', async () => {
    const table = await dshRef(['list', '--color', 'always'], { terminals: ['stdout'], columns: 80 })
    const dimmed = [...table.matchAll(DIM)].map(([, text = '']) => text.slice(0, 20).trim())
    expect(dimmed.sort()).toEqual([
      '(no title) Why does',
      '(no title) red \\u001',
      '(no title) xxxxxxxxx',
      '(no title) y',
    ])
  })

  test.each(['cold', 'warm', 'without a cache'])(
    'gives programs both the id as the label and how it began, %s',
    async (state) => {
      if (state === 'cold') rmSync(cache, { recursive: true, force: true })
      const options = state === 'without a cache' ? ['--no-cache'] : []
      const rows = JSON.parse(await dshRef(['list', '--format', 'json', ...options])) as Record<string, unknown>[]
      expect(Object.fromEntries(rows.map(({ sessionId, firstMessage }) => [sessionId, firstMessage]))).toEqual(OPENINGS)
      expect(rows.find(({ sessionId }) => sessionId === 'plain')).toMatchObject({
        label: 'plain',
        mention: '@[plain](dsh-session:InBsYWluIg)',
      })
      expect(rows.every((row) => row.title === undefined || row.sessionId === 'titled')).toBe(true)
    },
  )

  test('gives it as a field', async () => {
    const args = ['list', '--format', 'tsv', '--fields', 'sessionId,firstMessage', 'plain']
    expect(await dshRef(args)).toBe('plain\tWhy does the page loop?\n')
  })

  test('takes it from what was added to a log that had none', async () => {
    const path = home.write(chatLog('grown', [{ assistant: 'Hello.' }]))
    const fields = ['list', '--format', 'jsonl', '--fields', 'firstMessage', 'grown']
    expect(await dshRef(fields)).toBe('{}\n')
    const [, , row] = chatLog('grown', [{ assistant: '' }, { user: 'A question' }]).split('\n')
    appendFileSync(path, `${row}\n`)
    expect(await dshRef(fields)).toBe('{"firstMessage":"A question"}\n')
    rmSync(path)
  })
})

test('a search finds the same beginning as a list', async () => {
  const found = JSON.parse(await dshRef(['search', '-e', '.', '--format', 'json'])) as Record<string, unknown>[]
  expect(Object.fromEntries(found.map(({ sessionId, firstMessage }) => [sessionId, firstMessage]))).toEqual(OPENINGS)
})

test('completion says how a session began, and finds it by that', async () => {
  expect(await dshRef(['__complete', 'fish', 'dsh-ref', 'surface', 'pla'])).toContain(
    '(no title) Why does the page loop?',
  )
  expect(await dshRef(['__complete', 'fish', 'dsh-ref', 'surface', 'page'])).toContain('plain')
})

test('pick dims it, and cuts no line in the middle of a colour', () => {
  const row = { sessionId: 'plain', name: '(no title) Why does the page loop?', isTitle: false, cwd: '/work/app' }
  const screen = (columns: number) =>
    renderPick({
      omitted: 0,
      typed: '',
      rows: [row],
      cursor: 0,
      picked: new Set(),
      preview: [],
      error: '',
      columns,
      dim: (text) => `<${text}>`,
    })
  expect(screen(80)).toContain('> [ ] <(no title) Why does the page loop?>  plain  /work/app')
  expect(screen(30)).toContain('> [ ] <(no title) Why does th…>\n')
})
