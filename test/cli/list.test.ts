// `dsh-ref list` as a person and a script run it: formats, options, notes, exit status. Runs the built program.

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { moment } from '../../src/cli/filters.ts'
import { decodeSessionUri } from '../../src/reference/uri.ts'
import { ListSchema, PickedListSchema, schemaFiles } from '../../src/schemas.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'
import { logOf, logOnly, user } from '../support/rows.ts'

let home: Home
let cache: string

const title = (text: string) => logOnly('session/title', { title: text, messageSeqs: [], source: { kind: 'user' } })
const session = (id: string, name?: string, header: object = {}) =>
  logOf(4, [user('hello'), ...(name === undefined ? [] : [title(name)])], { id, ...header })

const HOSTILE = '\u001b]0;owned\u0007\u202eevil'

function fill(): void {
  home.write(session('plain', 'Fix the login', { createdAt: 1000 }))
  home.write(session('chinese', '修复登录页面', { createdAt: 2000, cwd: '/work/网站' }))
  home.write(session('arabic', 'إصلاح صفحة تسجيل الدخول', { createdAt: 3000, cwd: '/work/other' }))
  home.write(session('emoji', '👩‍👩‍👧 family 🚀', { createdAt: 4000, cwd: undefined }))
  home.write(
    session('sub/agent:1', undefined, {
      createdAt: 5000,
      origin: 'subagent',
      delegationDepth: 1,
      parentSession: 'plain',
    }),
  )
  home.write(session('line\nbreak', 'tab\there\nand \\', { createdAt: 6000 }))
  home.write(session('half\ud800', HOSTILE, { createdAt: 7000 }))
}

const NEWEST = ['half\ud800', 'line\nbreak', 'sub/agent:1', 'emoji', 'arabic', 'chinese', 'plain']

beforeAll(() => {
  home = makeHome()
  fill()
})

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-cache-'))
})

afterAll(() => home.remove())

const run = async (...args: string[]) => {
  const outcome = await runProgram(['list', '--root', home.root, ...args], { env: { DSH_REF_CACHE_DIR: cache } })
  rmSync(cache, { recursive: true, force: true })
  return outcome
}

async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout, status, stderr } = await run('--format', 'json', ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.any(String) })
  return JSON.parse(stdout)
}

describe('list', () => {
  test('prints a table, a session a line, without a header in a pipe', async () => {
    const { status, stdout, stderr } = await run()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.split('\n').slice(0, -1)
    expect(lines).toHaveLength(7)
    expect(lines[6]).toMatch(/^Fix the login +plain +\/work\/app +1970-01-01 00:00$/)
    expect(lines[0]).toContain('\\u001b]0;owned\\u0007\\u202eevil')
    expect((await run('--header')).stdout).toMatch(/^LABEL +ID +CWD +CREATED\n/)
    expect((await run('--long', '--header')).stdout.split('\n', 1)[0]?.split(/ +/)).toEqual(
      'HEALTH LABEL ID CWD CREATED UPDATED SIZE VERSION ORIGIN PARENT'.split(' '),
    )
  })

  test('prints JSON with the keys of the service and more, of which every row is what the schema says', async () => {
    const all = await rows()
    expect(all.map(({ sessionId }) => sessionId)).toEqual(NEWEST.map((id) => id.toWellFormed()))
    expect(ListSchema.parse(all)).toEqual(all)
    expect(all[6]).toEqual({
      sessionId: 'plain',
      label: 'Fix the login',
      cwd: '/work/app',
      sameWorkspace: false,
      createdAt: 1000,
      mention: '@[Fix the login](dsh-session:InBsYWluIg)',
      uri: 'dsh-session:InBsYWluIg',
      path: join(home.root, '--work-app--', 'plain', 'session.v4.jsonl'),
      title: 'Fix the login',
      firstMessage: 'hello',
      formatVersion: 4,
      updatedAt: 2001,
      sizeBytes: expect.any(Number),
      health: 'ok',
      issues: [],
    })
    expect(all[0]?.title).toBe(HOSTILE)
    const { stdout } = await run('--format', 'jsonl')
    expect(
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual(all)
    expect((await run('--format', 'json')).stdout).toMatch(/^\[\n\{.*\n\]\n$/s)
  })

  test('picks fields, and reads no log for those that do not need it', async () => {
    const picked = await rows('--fields', 'cwd,sessionId')
    expect(PickedListSchema.parse(picked)).toEqual(picked)
    expect(Object.keys(picked[6] as object)).toEqual(['cwd', 'sessionId'])
    expect(Object.keys(picked[3] as object)).toEqual(['sessionId'])
    expect((await run('--format', 'tsv', '--fields', 'label,createdAt', '--header')).stdout).toMatch(
      /^label\tcreatedAt\n.*\n.*\n.*\n.*\n.*\n.*\nFix the login\t1000\n$/,
    )
  })

  test('prints tab-separated lines whose values cannot break them', async () => {
    const { stdout } = await run('--format', 'tsv')
    const lines = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t'))
    expect(lines.map((fields) => fields.length)).toEqual(Array.from({ length: 7 }, () => 12))
    expect(lines[1]?.slice(0, 3)).toEqual(['line\\nbreak', 'tab\\there\\nand \\\\', '/work/app'])
    expect(lines[2]).toEqual([
      'sub/agent:1',
      'sub/agent:1',
      '/work/app',
      '5000',
      '2000',
      expect.stringMatching(/^\d+$/),
      '4',
      'subagent',
      'plain',
      'ok',
      'dsh-session:InN1Yi9hZ2VudDoxIg',
      join(home.root, '--work-app--', 'sub~002Fagent~003A1', 'session.v4.jsonl'),
    ])
    expect((await run('--format', 'tsv', '--header')).stdout.split('\n', 1)[0]).toBe(
      'sessionId\tlabel\tcwd\tcreatedAt\tupdatedAt\tsizeBytes\tformatVersion\torigin\tparentSession\thealth\turi\tpath',
    )
  })

  test('prints ids a line each, and leaves out, with a word, those a line cannot hold', async () => {
    const { status, stdout, stderr } = await run('--format', 'id')
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${NEWEST.slice(2).join('\n')}\n` })
    expect(stderr).toBe(
      'dsh-ref: 2 of 7 sessions left out, which this format cannot spell (1 with half a surrogate pair, 1 with a line break); --format uri or json has them\n',
    )
    const strict = await run('--format', 'id', '--strict')
    expect(strict).toMatchObject({ status: 4, stdout: '' })
    // With NUL only half a pair is left, which UTF-8 has no bytes for.
    const exact = await run('--format', 'id', '-0')
    expect(exact.stdout.split('\0')).toEqual([...NEWEST.slice(1), ''])
  })

  test('prints URIs, mentions and paths', async () => {
    expect((await run('--format', 'uri', '--limit', '1')).stdout).toBe('dsh-session:ImhhbGZcdWQ4MDAi\n')
    expect((await run('--format', 'mention', '--limit', '2')).stdout).toBe(
      `@[${HOSTILE.replace(']', '\\]')}](dsh-session:ImhhbGZcdWQ4MDAi)\n@[tab\there and \\\\](dsh-session:ImxpbmVcbmJyZWFrIg)\n`,
    )
    expect((await run('--format', 'mention', '-0', '--limit', '2')).stdout.split('\0')[1]).toBe(
      '@[tab\there\nand \\\\](dsh-session:ImxpbmVcbmJyZWFrIg)',
    )
    const paths = (await run('--format', 'path')).stdout.split('\n').slice(0, -1)
    expect(paths).toHaveLength(7)
    expect(paths.every(existsSync)).toBe(true)
  })

  test('feeds uri encode with every id there is', async () => {
    const command = `"$NODE" "$BIN" list --root "$ROOT" -0 --format id | xargs -0 -n1 "$NODE" "$BIN" uri encode`
    const env = { NODE: process.execPath, BIN: PROGRAM, ROOT: home.root, DSH_REF_CACHE_DIR: cache }
    const { stdout } = await execa('bash', ['-c', command], { env })
    const uris = (await rows()).map(({ uri }) => uri)
    expect(stdout.split('\n')).toEqual(uris.slice(1))
  })

  test('ends quietly when nobody reads on', async () => {
    for (let at = 0; at < 2000; at++)
      home.write(session(`many-${at}`, 'x'.repeat(200), { createdAt: 10 }), { project: 'many' })
    const command = `"$NODE" "$BIN" list --root "$ROOT" --all -q --format jsonl | head -1; echo "\${PIPESTATUS[0]}"`
    const env = { NODE: process.execPath, BIN: PROGRAM, ROOT: home.root, DSH_REF_CACHE_DIR: cache }
    const { stdout, stderr } = await execa('bash', ['-c', command], { env })
    rmSync(join(home.root, 'many'), { recursive: true })
    expect({ lines: stdout.split('\n').length, status: stdout.slice(-1), stderr }).toEqual({
      lines: 2,
      status: '0',
      stderr: '',
    })
  })

  test.each<[string, string[], string[]]>([
    ['a query', ['LOGIN'], ['plain']],
    ['a query of Chinese', ['登录'], ['chinese']],
    ['a query for a directory', ['网站'], ['chinese']],
    ['a directory', ['--cwd', '/work/other/'], ['arabic']],
    ['an origin', ['--origin', 'subagent'], ['sub/agent:1']],
    ['a time', ['--since', '1970-01-01T00:00:05Z'], ['half\ud800', 'line\nbreak', 'sub/agent:1']],
    ['two times', ['--since', '1970-01-01T00:00:02Z', '--until', '1970-01-01 00:00:03Z'], ['arabic', 'chinese']],
    ['an age', ['--since', '2d'], []],
    ['a limit', ['--limit', '1'], ['half\ud800']],
    ['no limit', ['--all'], NEWEST],
    ['a version', ['--version', '3'], []],
    ['a health', ['--health', 'corrupt'], []],
    ['an order', ['--sort', 'title', '--limit', '1'], ['half\ud800']],
    [
      'a target',
      ['--target', 'arabic'],
      NEWEST.filter((id) => id !== 'arabic')
        .sort((a, b) => Number(b === 'emoji') - Number(a === 'emoji'))
        .map((id) => id),
    ],
  ])('takes %s', async (_, args, expected) => {
    // Half a surrogate pair is U+FFFD in JSON; the URI has it.
    expect((await rows(...args)).map(({ uri }) => decodeSessionUri(uri as string))).toEqual(expected)
  })

  test('ranks the directory of the target first, and of the running session without being told', async () => {
    const expected = ['half\ud800', 'line\nbreak', 'sub/agent:1', 'emoji', 'arabic', 'chinese']
    const target = await rows('--target', 'plain')
    expect(target.map(({ uri }) => decodeSessionUri(uri as string))).toEqual(expected)
    expect(target.map(({ sameWorkspace }) => sameWorkspace)).toEqual([true, true, true, false, false, false])
    const DSH_SESSION_JSONL = join(home.root, '--work-app--', 'plain', 'session.v4.jsonl')
    const env = { DSH_REF_CACHE_DIR: cache, DSH_SESSION_JSONL }
    const { stdout } = await runProgram(['list', '--root', home.root, '--format', 'json'], { env })
    expect(JSON.parse(stdout).map(({ uri }: { uri: string }) => decodeSessionUri(uri))).toEqual(expected)
  })

  test('knows the current directory by the name it is in and by its real one', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-cwd-'))
    const own = makeHome()
    own.write(session('here', 'T', { cwd: directory }))
    own.write(session('there', 'T'))
    const options = { env: { DSH_REF_CACHE_DIR: cache }, cwd: directory }
    const { stdout } = await runProgram(['list', '--root', own.root, '--cwd', '.', '--format', 'id'], options)
    expect(stdout).toBe('here\n')
    own.remove()
    rmSync(directory, { recursive: true })
  })

  test.each<[string[], string]>([
    [['--limit', '0'], 'Option --limit is "0"; give a whole number of at least 1'],
    [['--limit', '1.5'], 'Option --limit is "1.5"'],
    [['--limit', '2', '--all'], "option '--all' cannot be used with option '--limit <n>'"],
    [['--since', 'yesterday'], 'Option --since is "yesterday"; give an ISO date or time'],
    [['--until', '2026-02-30'], 'Option --until is "2026-02-30"; give'],
    [['--version', 'x'], 'Option --version is "x"'],
    [['--sort', 'name'], 'Allowed choices are created, updated, title, size'],
    [['--fields', 'a', '--format', 'json'], 'Option --fields names "a"; there are sessionId, label'],
    [['--fields', 'label'], 'Option --fields goes with --format json, jsonl or tsv, not with table'],
    [['-0'], 'Option -0 goes with --format id, uri, mention or path, not with table'],
    [['one', 'two'], 'Expected 1 argument but got 2'],
    [['--cwd', ''], 'Option --cwd is ""'],
  ])('refuses %j as usage', async (args, message) => {
    const { status, stdout, stderr } = await run(...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr.toLowerCase()).toContain(message.toLowerCase())
  })
})

describe('list over what is damaged', () => {
  test('prints the other sessions, counts what is not in order in one line, and with --strict prints nothing', async () => {
    const own = makeHome()
    own.write(session('fine', 'Fine', { createdAt: 5 }))
    own.write(session('broken', 'Broken', { createdAt: 4 }).replace('"surfaceOp":"append"', '"surfaceOp":"odd"'))
    own.write('', { project: '--work-app--', session: 'empty', name: 'session.jsonl' })
    writeFileSync(join(own.root, '.DS_Store'), '')
    const list = (...args: string[]) =>
      runProgram(['list', '--root', own.root, ...args], { env: { DSH_REF_CACHE_DIR: cache } })
    for (let turn = 0; turn < 2; turn++) {
      const { status, stdout, stderr } = await list()
      expect(status).toBe(0)
      expect(stdout).toMatch(/^ok {7}Fine.*\ncorrupt {2}broken.*\ncorrupt {2}empty {3}empty {3}- +-\n$/)
      expect(stderr).toMatch(/^dsh-ref: 3 issues: corrupt log in .*; corrupt log in .*; stray file in .*\n$/)
    }
    expect((await list('--quiet')).stderr).toBe('')
    expect(await list('--strict')).toMatchObject({ status: 4, stdout: '' })
    const { stdout } = await list('--format', 'json')
    const all = JSON.parse(stdout) as { sessionId: string; health: string }[]
    expect(ListSchema.parse(all)).toEqual(all)
    expect(all.map(({ sessionId, health }) => [sessionId, health])).toEqual([
      ['fine', 'ok'],
      ['broken', 'corrupt'],
      ['empty', 'corrupt'],
    ])
    expect((await list('--health', 'corrupt', '--format', 'id')).stdout).toBe('broken\nempty\n')
    own.remove()
  })

  test('tells a missing root, an unreadable one and an empty one apart', async () => {
    const own = makeHome()
    const list = (root: string, ...args: string[]) =>
      runProgram(['list', '--root', root, ...args], { env: { DSH_REF_CACHE_DIR: cache } })
    const empty = await list(own.root)
    expect(empty).toEqual({
      status: 0,
      stdout: '',
      stderr: `dsh-ref: There are no sessions in ${own.root}; name another place with --root\n`,
    })
    expect(await list(own.root, '--format', 'json', '-q')).toEqual({ status: 0, stdout: '[]\n', stderr: '' })
    expect(await list(own.root, '--format', 'jsonl', '-q')).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(await list(join(own.root, 'none'))).toMatchObject({
      status: 4,
      stderr: expect.stringContaining('does not exist'),
    })
    writeFileSync(join(own.root, 'file'), '')
    expect(await list(join(own.root, 'file'))).toMatchObject({ status: 4, stderr: expect.stringContaining('ENOTDIR') })
    own.remove()
  })

  test('says when nothing matches', async () => {
    const { status, stdout, stderr } = await run('no such thing')
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: '',
      stderr: 'dsh-ref: None of the 7 sessions there matches\n',
    })
  })
})

describe('the cache of list', () => {
  test('is private, in the cache directory, and not made with --no-cache', async () => {
    const env = { XDG_CACHE_HOME: cache }
    await runProgram(['list', '--root', home.root, '--no-cache'], { env: { ...env, DSH_REF_CACHE_DIR: '' } })
    expect(readdirSync(cache)).toEqual([])
    await runProgram(['list', '--root', home.root], { env: { ...env, DSH_REF_CACHE_DIR: '' } })
    expect(readdirSync(cache)).toEqual(['dsh-ref'])
  })

  test('costs nothing but time when it cannot be written', async () => {
    const file = join(cache, 'file')
    writeFileSync(file, '')
    const args = ['list', '--root', home.root, '--format', 'uri']
    const { status, stdout, stderr } = await runProgram(args, { env: { DSH_REF_CACHE_DIR: join(file, 'below') } })
    expect({ status, lines: stdout.split('\n').length, stderr }).toEqual({ status: 0, lines: 8, stderr: '' })
  })

  test('is refused below a sessions root', async () => {
    const env = { DSH_REF_CACHE_DIR: join(home.root, 'cache') }
    const { status, stdout, stderr } = await runProgram(['list', '--root', home.root], { env })
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(
      /cache directory .* lies in the sessions root .*DSH_REF_CACHE_DIR.*\[SESSION_REFERENCE_INVALID_CONFIG\]/,
    )
    expect(existsSync(join(home.root, 'cache'))).toBe(false)
    expect((await runProgram(['list', '--no-cache', '--root', home.root], { env })).status).toBe(0)
  })
})

const hasScript = existsSync('/usr/bin/script')

describe.skipIf(!hasScript)('list at a terminal (skipped where there is no script(1))', () => {
  /** Runs in a terminal of that many columns; what it was sent, a line a row. */
  async function atTerminal(columns: number, ...args: string[]): Promise<string[]> {
    const words = ['list', '--root', home.root, ...args].map((word) => `'${word}'`).join(' ')
    const command = `stty cols ${columns} rows 50; '${process.execPath}' '${PROGRAM}' ${words}`
    const env = {
      DSH_REF_CACHE_DIR: cache,
      TERM: 'xterm-256color',
      NO_COLOR: '',
      FORCE_COLOR: undefined,
      DSH_SESSION_JSONL: '',
    }
    const { stdout } = await execa('script', ['-qec', command, '/dev/null'], { env, input: '' })
    return stdout.split('\n').map((line) => line.replace(/\r$/, ''))
  }

  test('has a header, colours, and a note on sub-agent sessions', async () => {
    const lines = await atTerminal(120, '--limit', '4')
    expect(lines[0]).toMatch(/^\u001b\[1mLABEL/)
    expect(lines.filter((line) => line.startsWith('dsh-ref:'))).toEqual([
      'dsh-ref: 1 of these 4 sessions is a sub-agent session; hide with --origin main',
    ])
    expect((await atTerminal(120, '--origin', 'main')).filter((line) => line.startsWith('dsh-ref:'))).toEqual([])
  })

  test.each([['table'], ['tsv'], ['json'], ['jsonl'], ['mention'], ['path']])(
    'is sent no control or bidi character in %s',
    async (format) => {
      const lines = await atTerminal(200, '--format', format, '--color', 'never')
      const sent = lines.join('\n')
      expect(sent.replaceAll('\t', format === 'tsv' ? '' : '\t')).not.toMatch(
        /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/,
      )
      if (format !== 'path') expect(sent).toMatch(/\\u001b\\?\]0;owned\\u0007\\u202eevil/)
      if (format === 'json')
        expect((JSON.parse(sent.slice(0, sent.lastIndexOf(']') + 1)) as { title: string }[])[0]?.title).toBe(HOSTILE)
    },
  )
})

describe('a moment', () => {
  const now = Date.UTC(2026, 10, 30, 12)
  const parse = (text: string, edge: 'start' | 'end' = 'start') => moment(now, edge).read(text)

  test.each([
    ['30m', now - 30 * 60_000],
    ['3h', now - 3 * 3_600_000],
    ['2d', now - 2 * 86_400_000],
    ['1w', now - 7 * 86_400_000],
    ['2026-11-30T08:00Z', Date.UTC(2026, 10, 30, 8)],
    ['2026-11-30T08:00:01.5Z', Date.UTC(2026, 10, 30, 8, 0, 1, 500)],
    ['2026-11-30T08:00+02:00', Date.UTC(2026, 10, 30, 6)],
    ['2026-11-30T08:00', new Date(2026, 10, 30, 8).getTime()],
    ['2026-11-30 08:00', new Date(2026, 10, 30, 8).getTime()],
    ['2026-11-30', new Date(2026, 10, 30).getTime()],
  ])('%s is read', (text, expected) => {
    expect(parse(text)).toBe(expected)
  })

  test('that is a day ends with its last millisecond', () => {
    expect(parse('2026-11-30', 'end')).toBe(new Date(2026, 11, 1).getTime() - 1)
    expect(parse('2d', 'end')).toBe(now - 2 * 86_400_000)
  })

  test.each([
    '',
    'now',
    '2',
    '2y',
    '-2d',
    '1.5h',
    '2026-13-01',
    '2026-02-29',
    '2026-11-30T25:00',
    '30.11.2026',
    '2026-11',
  ])('%j is none', (text) => {
    expect(parse(text)).toBeUndefined()
  })
})

describe('the published schemas', () => {
  test('are JSON Schemas that take what list prints, and nothing else', async () => {
    const files = schemaFiles()
    const schema = (name: string) => z.fromJSONSchema(JSON.parse(files[name] as string))
    const all = await rows()
    expect(schema('list.schema.json').safeParse(all).success).toBe(true)
    expect(schema('list-fields.schema.json').safeParse(await rows('--fields', 'label,issues')).success).toBe(true)
    expect(schema('list.schema.json').safeParse([{ ...all[0], health: 'fine' }]).success).toBe(false)
    expect(schema('list.schema.json').safeParse([{ ...all[0], more: 1 }]).success).toBe(false)
    expect(schema('list.schema.json').safeParse([{ ...all[0], uri: undefined }]).success).toBe(false)
  })
})
