// Case 9 of issue 5: terminal escapes, C1 and bidi controls, newlines and tabs in titles, cwd, ids and texts. A terminal gets
// none of them, a table keeps a line a row, JSON means the same.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { assistant, logOf, logOnly, user } from '../support/rows.ts'
import { isInstalled } from '../support/terminal.ts'

/** What a terminal acts on, what turns text around, and what some program takes for the end of a line. */
const EVIL = [
  '\u001b]0;owned\u0007',
  '\u001b[2J\u001b[1;31m',
  '\u001bPq\u001b\\',
  '\u009b31m\u009d0;x\u009c',
  '\u202egnp.exe\u202c',
  '\u2066\u2069\u200f\u061c',
  'a\nb\r\nc\rd',
  'tab\there\u000b\u000c\u0085\u2028\u2029',
  '\u0000\u0008\u007f\ufeff\u200b',
].join(' ')
// Joiners are letters of a kind, and stay.
const HARMLESS = '👩‍👩‍👧‍👦 می‌خواهم'

let home: Home
let work: string

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-terminal-'))
  home = makeHome()
  const title = logOnly('session/title', { title: `T ${EVIL}${HARMLESS}`, messageSeqs: [], source: { kind: 'user' } })
  const rows = [user(EVIL, {}, { kind: 'user' }), user('x', {}, { kind: `kind ${EVIL}` }), assistant(EVIL), title]
  const odd = logOnly(`type ${EVIL}`, {}, { [`key ${EVIL}`]: 1 })
  const places = { session: 'evil', project: '--evil--' }
  home.write(logOf(4, [...rows, odd], { id: `id ${EVIL}`, cwd: `/cwd ${EVIL}`, origin: `o ${EVIL}` }), places)
  const broken = logOf(4, [user('x', { surfaceOp: `op ${EVIL}` }), logOnly('turn/end')], { id: `broken ${EVIL}` })
  home.write(broken, { ...places, session: 'broken' })
})

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

const ENV = { DSH_REF_CACHE_DIR: '', DSH_SESSION_JSONL: '', NO_COLOR: '1' }
const path = () => `path:${join(home.root, '--evil--', 'evil')}`
const brokenPath = () => `path:${join(home.root, '--evil--', 'broken')}`

/** Runs the program with stdout and stderr that count as terminals; gives all that they were sent. */
async function asInTerminal(...args: string[]): Promise<string> {
  const terminals = ['stdout', 'stderr'] as const
  const options = { env: { ...ENV, HOME: work, TERM: 'xterm' }, terminals, columns: 400 }
  const { stdout, stderr } = await run([...args, '--root', home.root], options)
  return stdout + stderr
}

/** The same in a real terminal. */
async function inTerminal(...args: string[]): Promise<string> {
  const quoted = [process.execPath, PROGRAM, ...args, '--root', home.root].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  )
  const sent = join(work, 'sent')
  writeFileSync(sent, '')
  await execa('script', ['-qefc', `stty cols 400; ${quoted.join(' ')} < /dev/null`, sent], {
    reject: false,
    input: '',
    env: { ...ENV, HOME: work, TERM: 'xterm' },
  })
  const { stdout } = await execa('cat', [sent], { stripFinalNewline: false })
  // script writes a line of its own before and after.
  return stdout.replace(/^Script started[^\n]*\n/, '').replace(/\n?Script done[^\n]*\n?$/, '')
}

/** Every character that may not reach a terminal; line feeds with their carriage return may. */
const unsafe = (text: string) =>
  text
    .replaceAll('\r\n', '')
    .match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g) ?? []

describe('a terminal gets no control or bidi character', () => {
  test.each([
    ['list', () => ['list', '--no-cache', '--long']],
    ['list --format tsv', () => ['list', '--no-cache', '--format', 'tsv']],
    ['list --format json', () => ['list', '--no-cache', '--format', 'json']],
    ['list --format mention', () => ['list', '--no-cache', '--format', 'mention']],
    ['surface', () => ['surface', path()]],
    ['surface --format json', () => ['surface', path(), '--format', 'json']],
    ['check', () => ['check', path(), brokenPath()]],
    ['check --format json', () => ['check', '--all', '--format', 'json']],
    ['transcript', () => ['transcript', path()]],
    ['transcript --format text', () => ['transcript', path(), '--format', 'text']],
    ['transcript --format markdown', () => ['transcript', path(), '--format', 'markdown']],
    ['transcript --format json', () => ['transcript', path(), '--format', 'json']],
    ['transcript grep', () => ['transcript', 'grep', '.', path()]],
    ['prepare', () => ['prepare', `see this ${EVIL.replaceAll('\0', '')}`, '--ref', path()]],
    ['prepare --format chat', () => ['prepare', 'go', '--ref', path(), '--format', 'chat']],
    ['prepare --dry-run', () => ['prepare', 'go', '--ref', path(), '--dry-run']],
    ['the error of a damaged log', () => ['surface', brokenPath()]],
    ['the error of a session that is not there', () => ['surface', `id:none ${EVIL.replaceAll('\0', '')}`]],
    ['an error as JSON', () => ['surface', brokenPath(), '--error-format', 'json']],
  ])('from %s', async (name, argsOf) => {
    const sent = await asInTerminal(...argsOf())
    expect(sent.length).toBeGreaterThan(50)
    // Whole texts keep their lines and their tabs; a tab divides the fields of tsv.
    const keepsTabs = /tsv$|^transcript|^prepare$/.test(name)
    expect(unsafe(keepsTabs ? sent.replaceAll('\t', '') : sent)).toEqual([])
  })

  test('but keeps the joiners that letters and emoji need', async () => {
    expect(await asInTerminal('list', '--no-cache', '--format', 'json')).toContain(HARMLESS)
  })

  test.runIf(isInstalled('script')).each([
    ['a table', () => ['list', '--no-cache', '--long']],
    ['a text', () => ['transcript', path(), '--format', 'json']],
    ['an error', () => ['surface', brokenPath()]],
  ])('and a real one gets the same: %s', async (_what, argsOf) => {
    const sent = await inTerminal(...argsOf())
    expect(sent.replaceAll('\r\n', '\n').trimEnd()).toBe((await asInTerminal(...argsOf())).trimEnd())
  })
})

describe('in a pipe', () => {
  const on = async (...args: string[]) =>
    (await run([...args, '--root', home.root], { env: { ...ENV, HOME: work } })).stdout

  test('a table has a line for each row, whatever a title or a source holds', async () => {
    expect((await on('list', '--no-cache')).trimEnd().split('\n')).toHaveLength(2)
    // A line for the session, a blank, the head, three messages.
    expect((await on('surface', path())).trimEnd().split('\n')).toHaveLength(6)
    expect(unsafe(await on('list', '--no-cache', '--long'))).toEqual([])
    expect(unsafe(await on('surface', path()))).toEqual([])
  })

  test('tsv has its fields, each once, on one line a row', async () => {
    const lines = (await on('list', '--no-cache', '--format', 'tsv')).trimEnd().split('\n')
    expect(lines.map((line) => line.split('\t').length)).toEqual([12, 12])
  })

  test('JSON keeps the strings as they are', async () => {
    const rows = JSON.parse(await on('list', '--no-cache', '--format', 'json')) as { sessionId: string }[]
    const row = rows.find(({ sessionId }) => sessionId === `id ${EVIL}`)
    expect(row).toMatchObject({ title: `T ${EVIL}${HARMLESS}`, cwd: `/cwd ${EVIL}` })
    const [message] = JSON.parse(await on('transcript', path(), '--format', 'json')).data.conversation
    expect(message).toEqual({ role: 'user', text: EVIL })
  })
})
