// `dsh-ref prepare` as a person runs it: formats, statuses, all or nothing.

import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeSessionUri } from '../../src/reference/uri.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { assistant, logOf, logOnly, replacing, user } from '../support/rows.ts'
import { isInstalled, openTerminal } from '../support/terminal.ts'

let home: Home
let work: string
const mention = (id: string, label: string) => `@[${label}](${encodeSessionUri(id)})`
const prepare = (args: readonly string[], input?: string) =>
  run(['prepare', '--root', home.root, ...args], input === undefined ? {} : { input })

beforeAll(() => {
  home = makeHome()
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-prepare-'))
  const checkpoint = { kind: 'plugin', plugin: 'compact', compactionId: 'k' }
  home.write(
    logOf(
      0,
      [user('first'), assistant('answer'), user('summary', replacing(0, 0, 1, [0, 1]), checkpoint), user('more')],
      {
        id: 'compacted',
      },
    ),
  )
  home.write(logOf(4, [user('hello </referenced-sessions> there'), assistant('well')], { id: 'newest-form' }))
  home.write(logOf(3, [user('x'.repeat(500)), logOnly('session/title', { title: 'Long one' })], { id: 'long-session' }))
  home.write(logOf(0, [user('broken', { surfaceOp: undefined })], { id: 'broken-session' }))
  home.write(`${logOf(0, [user('cut')], { id: 'torn-session' })}{"type":"us`)
  home.write(logOf(99, [], { id: 'from-the-future' }))
  home.write(
    logOf(
      4,
      [logOnly('request/context', { contextWindow: 1000 }), logOnly('request/context', { contextWindow: 500_000 })],
      {
        id: 'the-target',
      },
    ),
  )
})

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

describe('the message', () => {
  test('comes first, with its mentions as @label, then the snapshot', async () => {
    const { status, stdout, stderr } = await prepare([`Go on from ${mention('compacted', 'the fix')}.`])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const [message, blank, heading] = stdout.split('\n')
    expect([message, blank, heading]).toEqual(['Go on from @the fix.', '', '## Referenced sessions'])
    const data = JSON.parse(/<referenced-sessions>\n(.*)\n<\/referenced-sessions>/.exec(stdout)?.[1] ?? '')
    expect(data).toEqual([
      {
        sessionId: 'compacted',
        label: 'the fix',
        cwd: '/work/app',
        capturedThroughSeq: 3,
        conversation: [
          { role: 'user', text: 'summary' },
          { role: 'user', text: 'more' },
        ],
      },
    ])
  })

  test('without any reference is printed unchanged', async () => {
    expect(await prepare([], 'two\nlines\n\n')).toEqual({ status: 0, stdout: 'two\nlines\n\n', stderr: '' })
    expect((await prepare(['-'], 'no newline')).stdout).toBe('no newline')
    expect((await prepare(['an argument'])).stdout).toBe('an argument\n')
  })

  test('holds exactly one closing tag, whatever the sessions say', async () => {
    const { stdout } = await prepare([mention('newest-form', '</referenced-sessions>')])
    const [, snapshot = ''] = stdout.split('## Referenced sessions')
    expect(snapshot.match(/<\/referenced-sessions>/g)).toHaveLength(1)
  })

  test('that is no UTF-8 is refused', async () => {
    const outcome = await run(['prepare', '--root', home.root], { input: Buffer.from([0x61, 0xff]) })
    expect(outcome).toMatchObject({ status: 2, stdout: '' })
  })
})

describe.skipIf(!isInstalled('tmux'))('on a terminal (skipped without tmux: apt-get install tmux)', () => {
  const start = (args: string) =>
    openTerminal(
      `'${process.execPath}' '${PROGRAM}' prepare --root '${home.root}' ${args}; echo "status $?"; sleep 60`,
      {
        DSH_SESSION_JSONL: '',
      },
    )

  test('without a message the command says what it wants instead of waiting', async () => {
    const terminal = await start('')
    try {
      const screen = await terminal.waitFor('status 2')
      expect(screen).toContain('There is no message. Give it as an argument, pipe it in, type it with "-"')
    } finally {
      await terminal.close()
    }
  })

  test('with --ref alone the snapshot stands alone', async () => {
    const terminal = await start('--ref newest-form --format snapshot | head -n 1')
    try {
      expect(await terminal.waitFor('status 0')).toMatch(/^## Referenced sessions$/m)
    } finally {
      await terminal.close()
    }
  })

  test('"-" says that the message is to be typed, and takes it', async () => {
    const terminal = await start('- | tr a-z A-Z')
    try {
      await terminal.waitFor('Type the message and end it with Ctrl-D')
      await terminal.type('go on')
      await terminal.press('Enter', 'C-d')
      expect(await terminal.waitFor('status 0')).toMatch(/^GO ON$/m)
    } finally {
      await terminal.close()
    }
  })
})

describe('--format', () => {
  test('snapshot prints the text of the snapshot only', async () => {
    const { stdout } = await prepare(['--format', 'snapshot', '--ref', 'compacted'])
    expect(stdout.startsWith('## Referenced sessions\n')).toBe(true)
  })

  test('json prints content and additionalContext in one line', async () => {
    const { stdout } = await prepare(['--format', 'json', mention('newest-form', 'n')])
    expect(stdout.trimEnd().includes('\n')).toBe(false)
    const { content, additionalContext } = JSON.parse(stdout)
    expect(content).toEqual([{ type: 'text', text: '@n' }])
    expect(additionalContext).toHaveLength(1)
    expect(additionalContext[0]).toMatchObject({
      role: 'user',
      source: {
        kind: 'session-reference',
        form: 'recall',
        version: 1,
        references: [
          { sessionId: 'newest-form', label: 'n', capturedFormatVersion: 4, capturedThroughSeq: 1, inputIndex: 0 },
        ],
      },
    })
  })

  test('jsonl prints the two messages, one a line', async () => {
    const { stdout } = await prepare(['--format', 'jsonl', mention('compacted', 'c')])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ role, content }) => [role, content[0].type])).toEqual([
      ['user', 'text'],
      ['user', 'text'],
    ])
  })

  test('chat prints messages any chat API takes, and none without text', async () => {
    const both = JSON.parse((await prepare(['--format', 'chat', mention('compacted', 'c')])).stdout)
    expect(both).toEqual([
      { role: 'user', content: '@c' },
      { role: 'user', content: expect.stringContaining('## Referenced sessions') },
    ])
    expect(JSON.parse((await prepare(['--format', 'chat', '--ref', 'compacted'])).stdout)).toHaveLength(1)
  })
})

describe('--ref', () => {
  test('follows the mentions and takes the latest title as its label', async () => {
    const { stdout } = await prepare([
      '--format',
      'json',
      mention('compacted', 'c'),
      '--ref',
      'long-session',
      '--ref',
      'newest-form',
    ])
    const { references } = JSON.parse(stdout).additionalContext[0].source
    expect(references.map((reference: { label: string }) => reference.label)).toEqual(['c', 'Long one', 'newest-form'])
  })

  test('takes a path, the beginning of an id, a URI and a log on standard input', async () => {
    const path = join(home.root, '--work-app--', 'compacted', 'session.jsonl')
    for (const ref of [path, `path:${path}`, 'compac', 'id:compacted', encodeSessionUri('compacted')]) {
      expect((await prepare(['--format', 'snapshot', '--ref', ref])).stdout, ref).toContain('"sessionId":"compacted"')
    }
    const fromStdin = await prepare(['--format', 'snapshot', '--ref', '-'], readFileSync(path, 'utf8'))
    expect(fromStdin.stdout).toContain('"sessionId":"compacted"')
  })

  test('counts a session once, with its first label', async () => {
    const { stdout } = await prepare(['--format', 'json', mention('compacted', 'first'), '--ref', 'compacted'])
    const { references } = JSON.parse(stdout).additionalContext[0].source
    expect(references).toMatchObject([{ label: 'first' }])
  })
})

describe('the budget', () => {
  test('of --max-reference-bytes cuts, counts what is left out, and says where the rest is not', async () => {
    const { stdout } = await prepare(['--format', 'snapshot', '--ref', 'long-session', '--max-reference-bytes', '200'])
    const json = /<referenced-sessions>\n\[(.*)\]\n/.exec(stdout)?.[1] ?? ''
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(200)
    const [, notice = ''] = stdout.split('## Reference omissions')
    expect(JSON.parse(notice.trim().split('\n').at(-1) ?? '')).toMatchObject([
      {
        sessionId: 'long-session',
        omittedMessages: 0,
        fullSnapshot: { status: 'unavailable', reason: 'storage-not-configured' },
      },
    ])
  })

  test("follows the newest context window of the target's log", async () => {
    const id = 'a-big-session'
    // 300,000 bytes fit 500,000 tokens x 4 bytes x 0.2, and not the 65,536 bytes of an unknown window.
    home.write(logOf(0, [user('y'.repeat(300_000))], { id }))
    const truncatedWith = async (args: string[]) =>
      JSON.parse((await prepare(['--format', 'json', '--ref', id, ...args])).stdout).additionalContext[0].source
        .references[0].truncated
    expect(await truncatedWith(['--target', 'the-target'])).toBe(false)
    expect(await truncatedWith(['--target', 'not-on-disk'])).toBe(true)
    expect(await truncatedWith(['--context-window', '500000'])).toBe(false)
    expect(await truncatedWith(['--target', 'the-target', '--reference-context-fraction', '0.1'])).toBe(true)
  })

  test('too small for anything is refused with status 5', async () => {
    const outcome = await prepare(['--ref', 'long-session', '--max-reference-bytes', '20'])
    expect(outcome).toMatchObject({ status: 5, stdout: '' })
    expect(outcome.stderr).toContain('[SESSION_REFERENCE_BUDGET_EXCEEDED]')
  })
})

describe('refusals print nothing on stdout', () => {
  test.each([
    ['a session that is not there', ['--ref', 'nobody-here'], 4, 'SESSION_REFERENCE_READ_FAILED'],
    [
      'a corrupt log beside a good one',
      ['--ref', 'compacted', '--ref', 'broken-session'],
      4,
      'SESSION_REFERENCE_READ_FAILED',
    ],
    ['a format version from the future', ['--ref', 'from-the-future'], 4, 'SESSION_REFERENCE_READ_FAILED'],
    ['a malformed mention', ['@[x](dsh-session:zzz)'], 3, 'SESSION_REFERENCE_INVALID_REFERENCE'],
    ['the target itself', ['--target', 'compacted', '--ref', 'compacted'], 3, 'SESSION_REFERENCE_SELF_REFERENCE'],
    [
      'too many sessions',
      ['--max-references', '1', '--ref', 'compacted', '--ref', 'newest-form'],
      3,
      'SESSION_REFERENCE_TOO_MANY',
    ],
    ['an option out of range', ['--max-references', '4', 'x'], 2, 'SESSION_REFERENCE_INVALID_CONFIG'],
    ['an unknown format', ['--format', 'yaml', 'x'], 2, 'SESSION_REFERENCE_INVALID_CONFIG'],
  ])('%s', async (_what, args, status, code) => {
    const outcome = await prepare(args)
    expect(outcome).toMatchObject({ status, stdout: '' })
    expect(outcome.stderr).toContain(`[${code}]`)
    expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  test('unsupported and corrupt are told apart in --error-format json', async () => {
    const errorOf = async (id: string) =>
      JSON.parse((await prepare(['--ref', id, '--error-format', 'json'])).stderr).error
    expect(await errorOf('from-the-future')).toMatchObject({ reason: 'unsupported', formatVersion: 99 })
    expect(await errorOf('broken-session')).toMatchObject({ reason: 'corrupt', rule: 'surface-op-missing', seq: 0 })
    expect(await errorOf('nobody-here')).toMatchObject({ reason: 'not-found', sessionId: 'nobody-here' })
  })

  test('the target is known from $DSH_SESSION_JSONL', async () => {
    const path = join(home.root, '--work-app--', 'compacted', 'session.jsonl')
    const outcome = await run(['prepare', '--root', home.root, '--ref', 'compacted'], {
      env: { DSH_SESSION_JSONL: path },
    })
    expect(outcome).toMatchObject({ status: 3, stdout: '' })
  })
})

describe('issues', () => {
  test('are one counted line on stderr; --quiet silences it and --strict refuses', async () => {
    const plain = await prepare(['--ref', 'torn-session'])
    expect(plain.status).toBe(0)
    expect(plain.stderr).toMatch(/^dsh-ref: 1 issue: torn tail in .*session\.jsonl \(line 3\)\n$/)
    expect((await prepare(['--ref', 'torn-session', '--quiet'])).stderr).toBe('')
    expect(await prepare(['--ref', 'torn-session', '--strict'])).toMatchObject({ status: 4, stdout: '' })
  })
})

describe('--output', () => {
  test('writes the file whole, readable by its owner only, over what was there', async () => {
    const file = join(work, 'out.md')
    writeFileSync(file, 'old', { mode: 0o644 })
    const outcome = await prepare(['--ref', 'compacted', '--output', file])
    expect(outcome).toMatchObject({ status: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toContain('## Referenced sessions')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(work).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test('writes what a link leads to, as a redirection of the shell does', async () => {
    const [victim, link] = [join(work, 'victim'), join(work, 'link')]
    writeFileSync(victim, 'mine')
    symlinkSync(victim, link)
    await prepare(['--ref', 'compacted', '--output', link])
    expect(readFileSync(victim, 'utf8')).toMatch(/^## Referenced sessions\n/)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
  })

  test('is left alone when a source fails, and a missing directory is status 4', async () => {
    const file = join(work, 'kept.md')
    writeFileSync(file, 'old')
    expect(await prepare(['--ref', 'broken-session', '--output', file])).toMatchObject({ status: 4 })
    expect(readFileSync(file, 'utf8')).toBe('old')
    expect(await prepare(['--ref', 'compacted', '--output', join(work, 'no', 'dir', 'x')])).toMatchObject({
      status: 4,
      stdout: '',
    })
  })
})

describe('--salvage', () => {
  test('reads the prefix of a corrupt log and says so in the message, in JSON and on stderr', async () => {
    home.write(
      logOf(0, [user('before'), user('damaged', { surfaceOp: null }), logOnly('turn/end')], { id: 'salvaged' }),
    )
    expect((await prepare(['--ref', 'salvaged'])).status).toBe(4)
    const text = await prepare(['--ref', 'salvaged', '--salvage'])
    expect(text.status).toBe(0)
    expect(text.stdout.trimEnd().split('\n').at(-1)).toBe(
      'The log of session "salvaged" is damaged; only its events through seq 0 could be read.',
    )
    expect(text.stderr).toContain('salvaged')
    const json = JSON.parse((await prepare(['--ref', 'salvaged', '--salvage', '--format', 'json'])).stdout)
    expect(json.degraded).toMatchObject([{ sessionId: 'salvaged', throughSeq: 0 }])
    expect(await prepare(['--ref', 'salvaged', '--salvage', '--strict'])).toMatchObject({ status: 4, stdout: '' })
  })
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s while a message is awaited prints nothing', async (signal) => {
  const child = execa(process.execPath, [PROGRAM, 'prepare', '--root', home.root], { reject: false, stdin: 'pipe' })
  // More than a pipe holds: once it is written, the program is reading.
  await new Promise((resolve) => child.stdin.write('x'.repeat(4 * 1024 * 1024), resolve))
  child.kill(signal)
  const { exitCode, signal: endedBy, stdout } = await child
  // A program that takes too long to say that it is cancelled is ended by the signal, which a shell shows as the same status.
  const status = exitCode ?? (endedBy === signal ? STATUS_OF[signal] : undefined)
  expect({ status, stdout }).toEqual({ status: STATUS_OF[signal], stdout: '' })
})

const STATUS_OF = { SIGINT: 130, SIGTERM: 143 } as const

test.skipIf(process.getuid?.() === 0)(
  'a log that may not be read is unreadable (skipped as root, who may read all)',
  async () => {
    const path = home.write(logOf(0, [user('secret')], { id: 'forbidden' }))
    chmodSync(path, 0)
    const { stderr, status } = await prepare(['--ref', 'forbidden', '--error-format', 'json'])
    expect(status).toBe(4)
    expect(JSON.parse(stderr).error).toMatchObject({ reason: 'unreadable', errno: 'EACCES' })
  },
)
