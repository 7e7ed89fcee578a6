// What `list` says on stderr beside its rows: rows the limit cut, rows a format cannot spell, and why there are none; and
// that the other commands tell the same reasons apart.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commandAt } from '../../src/cli/commands.ts'
import { saysCut } from '../../src/cli/list-notes.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'
import { logOf, logOnly, user } from '../support/rows.ts'

const title = (text: string) => logOnly('session/title', { title: text, messageSeqs: [], source: { kind: 'user' } })
const session = (id: string, name?: string, header: object = {}) =>
  logOf(4, [user('hello'), ...(name === undefined ? [] : [title(name)])], { id, ...header })

const cache = mkdtempSync(join(tmpdir(), 'dsh-ref-cache-'))
const env = { DSH_REF_CACHE_DIR: cache }
afterAll(() => rmSync(cache, { recursive: true, force: true }))

let home: Home
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

const list = (...args: string[]) => runProgram(['list', '--root', home.root, ...args], { env })

/** Puts a log whose header is no JSON where the header of this id would lead. */
const breakHeader = (id: string) =>
  home.write('{no header\n', { project: '--work-app--', session: id, name: 'session.v4.jsonl' })

describe('a list that the limit cut', () => {
  beforeEach(() => {
    for (let at = 0; at < 53; at++) home.write(session(`s-${at}`, at < 52 ? 'Parser work' : 'Other', { createdAt: at }))
  })

  test.each(['table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'])('says so beside %s', async (format) => {
    const { stderr, stdout } = await list('--format', format)
    expect(stderr).toBe('dsh-ref: 50 of 53 sessions listed; see all with --all\n')
    const rows = format === 'json' ? JSON.parse(stdout) : stdout.split('\n').slice(0, -1)
    expect(rows).toHaveLength(50)
  })

  test.each([[['--all']], [['--limit', '50']], [['--quiet']], [['--since', '1970-01-01T00:00:00.010Z']]])(
    'says nothing with %j',
    async (args) => {
      expect((await list(...args)).stderr).toBe('')
    },
  )

  test('counts only what matches', async () => {
    expect((await list('parser')).stderr).toBe('dsh-ref: 50 of 52 sessions listed; see all with --all\n')
    expect((await list('--health', 'ok')).stderr).toBe('dsh-ref: 50 of 53 sessions listed; see all with --all\n')
  })
})

describe('the words on what a limit cut', () => {
  test.each([
    [50, { omitted: 0, undecided: 0 }, undefined],
    [50, { omitted: 73, undecided: 0 }, '50 of 123 sessions listed; see all with --all'],
    [
      50,
      { omitted: 3, undecided: 40 },
      '50 of at least 53 sessions listed; 40 more were not read and may match; see all with --all',
    ],
    [50, { omitted: 0, undecided: 1 }, '50 sessions listed; 1 more was not read and may match; see all with --all'],
  ])('for %i rows and %j are right', (printed, rest, expected) => {
    expect(saysCut(printed, rest)).toBe(expected)
  })
})

describe('a log whose header cannot be read', () => {
  beforeEach(() => {
    home.write(session('fine', 'Fine', { createdAt: 5 }))
    breakHeader('sub~002Fagent')
  })

  test.each<[string, RegExp]>([
    ['table', /^ok {7}Fine .*\ncorrupt {2}sub\/agent +sub\/agent +- +-\n$/],
    ['tsv', /^fine\t.*\nsub\/agent\tsub\/agent\t\t\t\t11\t4\t\t\tcorrupt\tdsh-session:.*\t.*\/session\.v4\.jsonl\n$/],
    ['id', /^fine\nsub\/agent\n$/],
    ['uri', /^dsh-session:ImZpbmUi\ndsh-session:InN1Yi9hZ2VudCI\n$/],
    ['mention', /^@\[Fine\].*\n@\[sub\/agent\]\(dsh-session:InN1Yi9hZ2VudCI\)\n$/],
    ['path', /\/fine\/session\.v4\.jsonl\n.*\/sub~002Fagent\/session\.v4\.jsonl\n$/],
  ])('is a row of %s, last, and is counted on stderr', async (format, expected) => {
    const { status, stdout, stderr } = await list('--format', format)
    expect(stdout).toMatch(expected)
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(/^dsh-ref: 1 issue: corrupt log in .*\n$/),
    })
  })

  test('changes nothing in the table of sessions that are in order', async () => {
    expect((await list('fine')).stdout).toMatch(/^Fine {2}fine {2}\/work\/app {2}1970-01-01 00:00\n$/)
  })
})

describe('when there is nothing to list or find', () => {
  const find = (root: string) => runProgram(['transcript', '--root', root, 'wanted'], { env })

  test('a root that does not exist is named as such', async () => {
    const none = join(home.root, 'none')
    const expected = `the sessions root ${none} does not exist; name another with --root or $DSH_REF_ROOT`
    expect((await runProgram(['list', '--root', none], { env })).stderr.toLowerCase()).toContain(expected.toLowerCase())
    expect((await find(none)).stderr).toContain(`No session "wanted": ${expected}`)
  })

  test('an empty root is named as such, also beside one that does not exist', async () => {
    expect((await list()).stderr).toBe(
      `dsh-ref: There are no sessions in ${home.root}; name another place with --root\n`,
    )
    expect((await find(home.root)).stderr).toContain(`No session "wanted": there are no sessions in ${home.root}; name`)
    const none = join(home.root, 'none')
    expect((await list('--root', none)).stderr).toContain(
      `dsh-ref: There are no sessions in ${home.root}, and ${none} does not exist; name another place with --root\n`,
    )
  })

  test('logs that can all not be read are counted', async () => {
    breakHeader('one')
    breakHeader('two')
    const none = `none of the 2 session logs in ${home.root} can be read; "dsh-ref check --all" says why`
    const listed = await list('--since', '2d')
    expect({ ...listed, stderr: listed.stderr.toLowerCase() }).toEqual({
      status: 0,
      stdout: '',
      stderr: expect.stringContaining(none.toLowerCase()),
    })
    expect((await find(home.root)).stderr).toContain(`No session "wanted": ${none}`)
  })

  test('a filter that lets nothing through is named as such', async () => {
    home.write(session('only'))
    expect((await list('nothing')).stderr).toBe('dsh-ref: The one session there does not match\n')
    home.write(session('other'))
    expect((await list('nothing')).stderr).toBe('dsh-ref: None of the 2 sessions there matches\n')
  })

  test('the session that receives is named as the only one', async () => {
    home.write(session('only'))
    expect((await list('--target', 'only')).stderr).toBe(
      `dsh-ref: The only session in ${home.root} is the one that receives, which is left out\n`,
    )
  })

  test('logs that may hide the wanted session are counted beside those that can be read', async () => {
    home.write(session('fine'))
    breakHeader('one')
    expect((await find(home.root)).stderr).toContain(
      `No session "wanted" in ${home.root}, 1 of whose logs cannot be read; a session is named by its id`,
    )
  })

  test('all near ids are counted, though only some are named', async () => {
    for (let at = 0; at < 8; at++) home.write(session(`wanted-${at}`))
    const { stderr } = await runProgram(['transcript', '--root', home.root, 'wantedX'], { env })
    expect(stderr).toContain('near are wanted-0, wanted-1, wanted-2, wanted-3, wanted-4 and 3 more')
  })
})

describe('--cwd', () => {
  let real: string
  let link: string
  beforeEach(() => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-ref-cwd-')))
    real = join(place, 'real')
    link = join(place, 'link')
    mkdirSync(join(real, 'app'), { recursive: true })
    symlinkSync(real, link)
    home.write(session('by-link', undefined, { cwd: join(link, 'app'), createdAt: 3 }))
    home.write(session('by-real', undefined, { cwd: join(real, 'app'), createdAt: 2 }))
    home.write(session('elsewhere', undefined, { cwd: join(real, 'other'), createdAt: 1 }))
  })
  afterEach(() => rmSync(join(real, '..'), { recursive: true }))

  const ids = async (cwd: string, PWD: string, directory = '.') => {
    const args = ['list', '--root', home.root, '--cwd', directory, '--format', 'id']
    return (await runProgram(args, { env: { ...env, PWD }, cwd })).stdout.split('\n').slice(0, -1)
  }

  test('finds sessions of a directory by every link to it', async () => {
    expect(await ids(join(real, 'app'), join(link, 'app'))).toEqual(['by-link', 'by-real'])
    expect(await ids(join(real, 'app'), join(real, 'app'))).toEqual(['by-link', 'by-real'])
    expect(await ids('/', '/', join(link, 'app'))).toEqual(['by-link', 'by-real'])
  })

  test('finds them when the directory itself is gone', async () => {
    rmSync(join(real, 'app'), { recursive: true })
    expect(await ids('/', '/', join(link, 'app'))).toEqual(['by-link', 'by-real'])
  })

  test('does not believe a $PWD that is another directory', async () => {
    mkdirSync(join(real, 'other'))
    expect(await ids(join(real, 'app'), join(real, 'other'))).toEqual(['by-link', 'by-real'])
  })
})

describe('last activity', () => {
  const at = (time: number, row: string) => JSON.stringify({ ...JSON.parse(row), time })
  const active = (id: string, time: number) => {
    const [head, ...rows] = session(id, undefined, { createdAt: 1 }).trimEnd().split('\n') as [string, ...string[]]
    home.write(`${[head, ...rows.map((row) => at(time, row))].join('\n')}\n`)
  }

  test('filters by the time of the newest event, and sorts by it', async () => {
    active('old', Date.UTC(2026, 0, 1))
    active('new', Date.UTC(2026, 2, 1))
    breakHeader('broken')
    const ids = async (...args: string[]) => (await list('--format', 'id', ...args)).stdout.split('\n').slice(0, -1)
    expect(await ids('--active-since', '2026-02-01T00:00Z')).toEqual(['new'])
    expect(await ids('--active-until', '2026-02-01T00:00Z')).toEqual(['old'])
    expect(await ids('--active-since', '2025-12-01T00:00Z', '--active-until', '2026-03-01T00:00Z')).toEqual([
      'new',
      'old',
    ])
    expect(await ids('--since', '2026-01-01T00:00Z')).toEqual([])
    expect(await ids('--sort', 'updated')).toEqual(['new', 'old', 'broken'])
  })

  test.each([
    ['--since', '--until'],
    ['--active-since', '--active-until'],
  ])('and creation refuse a range whose %s is after its %s', async (from, to) => {
    const { status, stdout, stderr } = await list(from, '2026-02-02', to, '2026-02-01')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(`Option ${from} is "2026-02-02", which is after ${to} "2026-02-01"`)
    expect((await list(from, '2026-02-01', to, '2026-02-01')).status).toBe(0)
  })
})

describe('a fork', () => {
  test('is told from its parent in the table when both have one title', async () => {
    home.write(session('parent', 'Parser', { createdAt: 1 }))
    home.write(session('child', 'Parser', { createdAt: 2, parentSession: 'parent', isSeeded: false }))
    const { stdout } = await list('--header')
    expect(stdout).toMatch(/^LABEL .* PARENT\nParser .* fork of parent\nParser .* -\n$/)
    expect((await list('--long')).stdout).toMatch(/ parent\n.* -\n$/)
  })

  test('adds no column to a table in which every title is another', async () => {
    home.write(session('parent', 'Parser', { createdAt: 1 }))
    home.write(session('child', 'Lexer', { createdAt: 2, parentSession: 'parent' }))
    expect((await list('--header')).stdout).toMatch(/^LABEL +ID +CWD +CREATED\n/)
  })
})

describe('the example that feeds ids to uri encode', () => {
  test('takes ids that look like options, and "-"', async () => {
    const ids = ['--help', '-0', '-', 'plain']
    for (const [at, id] of ids.entries()) home.write(session(id, undefined, { createdAt: 9 - at }))
    const { path } = commandAt(['list'])
    const example = path.at(-1)?.examples?.find((line) => line.includes('uri encode')) as string
    const command = `dsh-ref() { "$NODE" "$BIN" "$@"; }; ${example}`
    const { stdout } = await execa('bash', ['-c', command], {
      env: { ...env, NODE: process.execPath, BIN: PROGRAM, DSH_REF_ROOT: home.root, DSH_SESSION_JSONL: '' },
    })
    const uris = ids.map((id) => `dsh-session:${Buffer.from(JSON.stringify(id)).toString('base64url')}`)
    expect(stdout.split('\n')).toEqual(uris)
  })
})
