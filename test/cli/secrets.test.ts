// Secrets at the exits of the program: with masking asked for, no command lets a piece of one out, whichever way; with
// `--fail-on-secrets` nothing gets out at all.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandSpec } from '../../src/cli/commands/spec.ts'
import { commandAt, groupsOf } from '../../src/cli/commands.ts'
import { chatLog } from '../support/chat-log.ts'
import { COMMAND_NAMES, everyCommand } from '../support/every-command.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { keyLines } from '../support/invented-secrets.ts'
import { LEAKY, leaksIn, leakyLog, makeLeakyHome, PLACEHOLDER, SECRET } from '../support/leaky-home.ts'
import { type Outcome, run } from '../support/program.ts'

const PRIVATE_KEY = ['-----BEGIN RSA PRIVATE KEY-----', ...keyLines(6), '-----END RSA PRIVATE KEY-----'].join('\n')

const FOUND = 'SESSION_REFERENCE_SECRETS_FOUND'

let home: Home
let work: string
beforeAll(async () => {
  home = makeLeakyHome()
  home.write(chatLog('clean-session', [{ user: 'hello' }, { assistant: 'hello to you' }], '/work/app'))
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-secrets-'))
  const whole = leakyLog('damaged-log')
  writeFileSync(join(work, 'session.jsonl'), `${whole}{"type":"user/message","seq":9,"${SECRET}":"${SECRET}"\n{}\n`)
  const { stdout } = await run(['transcript', '--include-shadowed', LEAKY, '--root', home.root])
  writeFileSync(join(work, 'saved.txt'), stdout)
})
afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

/** A spill directory in which an unmasked transcript lies already. */
async function usedSpillDirectory(): Promise<string> {
  const directory = mkdtempSync(join(work, 'spill-'))
  const args = ['prepare', 'x', '--ref', LEAKY, '--max-reference-bytes', '900', '--spill-dir', directory]
  await run([...args, '--root', home.root])
  expect(leaksIn(textIn(directory)).length).toBeGreaterThan(0)
  return directory
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function textIn(directory: string, except: readonly string[] = []): string {
  return filesIn(directory)
    .filter((file) => !except.includes(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
}

const places = (spillDir: string) => ({
  root: home.root,
  session: LEAKY,
  damagedLog: join(work, 'session.jsonl'),
  artifact: join(work, 'saved.txt'),
  spillDir,
})

/** Commands that print nothing of a log. */
const OF_NO_LOG = new Set([
  'spill prune',
  'uri encode',
  'uri decode',
  'uri mention',
  'uri parse',
  'config',
  'completion',
  'help',
])

function flagsOf(name: string): string[] {
  const spec = commandAt(name.split(' ')).path.at(-1) as CommandSpec
  return groupsOf(spec).flatMap(({ options }) => options.map(({ flags }) => flags))
}

describe('every command', () => {
  test.each(COMMAND_NAMES)('%s has --redact, or prints nothing of a log', (name) => {
    expect(flagsOf(name).includes('--redact')).toBe(!OF_NO_LOG.has(name))
    expect(flagsOf(name).includes('--no-redact')).toBe(!OF_NO_LOG.has(name))
  })

  test.each(COMMAND_NAMES)('%s leaves no piece of a secret on stdout, on stderr or in a file', async (name) => {
    const spillDir = await usedSpillDirectory()
    const before = filesIn(spillDir)
    const runs = everyCommand(places(spillDir))[name] ?? []
    expect(runs.length).toBeGreaterThan(0)
    for (const { args, isRefused, input = '' } of runs) {
      for (const more of [[], ['--strict'], ['--error-format', 'json', '--strict']]) {
        const asked = OF_NO_LOG.has(name) ? { input, env: { DSH_REF_REDACT: '1' } } : { input }
        const options = OF_NO_LOG.has(name) ? [] : ['--redact']
        const outcome = await run([...args, ...options, ...more], asked)
        expect({ args, more, leaks: leaksIn(outcome.stdout + outcome.stderr) }).toEqual({ args, more, leaks: [] })
        if (more.length === 0 && isRefused !== true) expect(outcome.stdout, outcome.stderr).not.toBe('')
      }
    }
    expect(leaksIn(textIn(spillDir, before))).toEqual([])
  })

  test.each([
    [['transcript', 'damaged']],
    [['surface', 'damaged']],
    [['prepare', 'x', '--ref', 'damaged']],
    [['prepare', 'x', '--ref', 'damaged', '--explain', '--salvage']],
    [['check', 'damaged']],
    [['check', 'damaged', '--secrets', '--format', 'json']],
    [['transcript', 'grep', 'token', 'damaged', '--salvage']],
    [['search', 'token', '--no-cache', '--format', 'json']],
    [['search', 'token', '--context', '3']],
    [['search', '-e', 'gh[a-z]_', '--tools', '--format', 'jsonl']],
    [['list', SECRET.slice(0, 8), '--format', 'tsv', '--header']],
    [['transcript', 'grep', '-C', '2', SECRET.slice(0, 12), LEAKY]],
    [['prepare', 'x', '--ref', LEAKY, '--dry-run', '--format', 'json']],
    [['prepare', 'x', '--ref', LEAKY, '--explain', '--max-reference-bytes', '500']],
  ])('%s quotes none in what it says', async (args) => {
    const named = args.map((arg) => (arg === 'damaged' ? `path:${join(work, 'session.jsonl')}` : arg))
    for (const format of ['text', 'json']) {
      const outcome = await run([...named, '--root', home.root, '--redact', '--error-format', format])
      // What a person types on the command line is no text of a log, and may be repeated.
      expect(leaksIn((outcome.stdout + outcome.stderr).replaceAll(args[1] ?? '', ''))).toEqual([])
    }
  })

  test.each(COMMAND_NAMES.filter((name) => !OF_NO_LOG.has(name) && name !== 'pick'))(
    '%s prints the same bytes with --no-redact as without',
    async (name) => {
      for (const { args, input = '' } of everyCommand(places(await usedSpillDirectory()))[name] ?? []) {
        if (args.includes('--spill-dir') && name === 'prepare') continue // a spill has a name of chance
        const plain = await run(args, { input })
        expect(await run([...args, '--no-redact'], { input, env: { DSH_REF_REDACT: '1' } })).toEqual(plain)
      }
    },
  )
})

describe('--redact', () => {
  const on = (args: readonly string[], env = {}) => run([...args, '--root', home.root], { env })

  test('masks what is printed and says how much it masked', async () => {
    const { stdout, stderr, status } = await on(['transcript', LEAKY, '--redact', '--format', 'json'])
    expect(status).toBe(0)
    const { data, redacted } = JSON.parse(stdout)
    expect(data.label).toBe(`Use ${PLACEHOLDER} for login`)
    expect(data.cwd).toBe(`/work/${PLACEHOLDER}/app`)
    expect(data.conversation[0].text).toBe(`Summary: the token is ${PLACEHOLDER}.`)
    expect(redacted).toEqual({ total: 6, byKind: { 'github-token': 6 } })
    expect(stderr).toBe(
      'dsh-ref: Masked 6 secrets (6 github-token); best effort, and no proof that there are no others\n',
    )
  })

  test('says that it found none, which is no proof', async () => {
    const { stdout, stderr } = await on(['prepare', 'x', '--ref', 'clean-session', '--redact', '--format', 'json'])
    expect(JSON.parse(stdout).redacted).toEqual({ total: 0, byKind: {} })
    expect(stderr).toBe('dsh-ref: No secrets found; best effort, and no proof that there are none\n')
  })

  test('makes rows of a list that say what was masked in each', async () => {
    const { stdout } = await on(['list', '--redact', '--format', 'json'])
    const rows = new Map(JSON.parse(stdout).map((row: { sessionId: string }) => [row.sessionId, row]))
    expect(rows.get(LEAKY)).toMatchObject({
      label: `Use ${PLACEHOLDER} for login`,
      title: `Use ${PLACEHOLDER} for login`,
      mention: `@[Use [redacted:github-token\\] for login](dsh-session:${Buffer.from(JSON.stringify(LEAKY)).toString('base64url')})`,
      cwd: `/work/${PLACEHOLDER}/app`,
      // Title, directory, and the first message, which a compaction has replaced since.
      redacted: { total: 3, byKind: { 'github-token': 3 } },
    })
    expect(rows.get('clean-session')).toMatchObject({ redacted: { total: 0, byKind: {} } })
  })

  test('lets a session be found by its secret, and shows only lines that still match', async () => {
    const { stdout } = await on(['search', SECRET.slice(0, 12), '--redact', '--format', 'json'])
    const [row] = JSON.parse(stdout)
    expect(row).toMatchObject({ sessionId: LEAKY, matches: [] })
    const words = JSON.parse((await on(['search', 'token', '--redact', '--format', 'json'])).stdout)
    expect(words[0].matches.map(({ text }: { text: string }) => text)).toContain(
      `Summary: the token is ${PLACEHOLDER}.`,
    )
  })

  test.each([
    ['nothing', {}, undefined, [], false],
    ['the variable', { DSH_REF_REDACT: '1' }, undefined, [], true],
    ['the variable, in words', { DSH_REF_REDACT: 'true' }, undefined, [], true],
    ['the file', {}, true, [], true],
    ['a variable against the file', { DSH_REF_REDACT: '0' }, true, [], false],
    ['a variable for it against the file', { DSH_REF_REDACT: '1' }, false, [], true],
    ['an empty variable, which is as none, and the file', { DSH_REF_REDACT: '' }, true, [], true],
    ['the option against the variable', { DSH_REF_REDACT: '0' }, false, ['--redact'], true],
    ['the option not to, against both', { DSH_REF_REDACT: '1' }, true, ['--no-redact'], false],
  ] as const)('is decided by %s', async (_, env, file, options, isMasked) => {
    const XDG_CONFIG_HOME = mkdtempSync(join(work, 'config-'))
    if (file !== undefined) writeFileSync(join(XDG_CONFIG_HOME, 'dsh-ref.json'), JSON.stringify({ redact: file }))
    const { stdout } = await on(['transcript', LEAKY, ...options], { XDG_CONFIG_HOME, ...env })
    expect(stdout.includes(PLACEHOLDER)).toBe(isMasked)
    const config = JSON.parse((await run(['config', '--format', 'json'], { env: { XDG_CONFIG_HOME, ...env } })).stdout)
    if (options.length === 0) expect(config.settings.redact.value).toBe(isMasked)
  })

  test('is not guessed from another value of the variable', async () => {
    const { status, stdout, stderr } = await on(['transcript', LEAKY], { DSH_REF_REDACT: 'yes' })
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('$DSH_REF_REDACT is "yes"; give 1, true, 0 or false')
  })

  test('leaves no half of a secret at the end of a first message that is cut', async () => {
    const untitled = makeHome()
    try {
      for (let padding = 140; padding < 205; padding++) {
        untitled.write(
          chatLog(`padded-${padding}`, [{ user: `${'x'.repeat(padding - 1)} ${SECRET} and more, ${'y'.repeat(99)}` }]),
        )
      }
      untitled.write(chatLog('key', [{ user: PRIVATE_KEY }]))
      const env = { DSH_REF_REDACT: '1', DSH_REF_ROOT: untitled.root }
      for (const args of [
        ['list', '--all', '--format', 'json'],
        ['list', '--all', '--format', 'tsv', '--fields', 'sessionId,firstMessage'],
        ['list', '--all'],
        ['search', 'more', '--all', '--format', 'json'],
        ['search', 'more', '--all', '--no-cache', '--format', 'tsv'],
        ['__complete', 'zsh', 'dsh-ref', 'transcript', 'padded'],
      ]) {
        const { stdout } = await run(args, { env })
        expect(stdout).toContain('padded-170')
        // Four characters behind the prefix could be guessed, but they are no part of what is printed either.
        expect({ args, leaks: stdout.match(/ghp_\w/g) }).toEqual({ args, leaks: null })
        expect(stdout).not.toContain(PRIVATE_KEY.slice(60, 70))
      }
    } finally {
      untitled.remove()
    }
  })

  test('reaches the titles that completion shows', async () => {
    for (const [value, isMasked] of [
      ['1', true],
      ['0', false],
    ] as const) {
      const { stdout } = await run(['__complete', 'zsh', 'dsh-ref', 'transcript', 'leaky'], {
        env: { DSH_REF_REDACT: value, DSH_REF_ROOT: home.root },
      })
      expect(stdout).toContain(LEAKY)
      expect(leaksIn(stdout).length === 0).toBe(isMasked)
    }
  })
})

describe('--fail-on-secrets', () => {
  const refused = (outcome: Outcome) => {
    expect({ status: outcome.status, stdout: outcome.stdout }).toEqual({ status: 6, stdout: '' })
    expect(outcome.stderr).toContain(FOUND)
    expect(leaksIn(outcome.stderr)).toEqual([])
  }

  test.each([
    [['prepare', 'x', '--ref', LEAKY]],
    [['prepare', 'x', '--ref', LEAKY, '--dry-run']],
    [['prepare', 'x', '--ref', LEAKY, '--explain', '--max-reference-bytes', '400']],
    [['transcript', LEAKY]],
    [['transcript', LEAKY, '--format', 'json', '--include-shadowed']],
    [['transcript', 'grep', 'Summary', LEAKY]],
    [['transcript', 'decode', 'saved']],
    [['surface', LEAKY]],
    [['surface', LEAKY, '--format', 'json']],
    [['list']],
    [['list', '--format', 'jsonl']],
    [['search', 'token']],
    [['search', 'token', '--format', 'json']],
  ])('ends %s with status 6 before the first byte, also with --redact', async (args) => {
    const named = args.map((arg) => (arg === 'saved' ? join(work, 'saved.txt') : arg))
    for (const also of [[], ['--redact']]) {
      refused(await run([...named, '--fail-on-secrets', ...also, '--root', home.root]))
    }
  })

  test('says the counts by kind in the error, and never the secret', async () => {
    const args = ['transcript', LEAKY, '--fail-on-secrets', '--error-format', 'json', '--root', home.root]
    const { error } = JSON.parse((await run(args)).stderr)
    expect(error).toMatchObject({ code: FOUND, total: 6, byKind: { 'github-token': 6 } })
  })

  test('leaves no file: neither a spill nor the one of --output', async () => {
    const directory = mkdtempSync(join(work, 'none-'))
    const output = join(directory, 'out.md')
    const spill = join(directory, 'spill')
    mkdirSync(spill)
    const args = [
      'prepare',
      'x',
      '--ref',
      LEAKY,
      '--max-reference-bytes',
      '400',
      '--output',
      output,
      '--spill-dir',
      spill,
    ]
    refused(await run([...args, '--fail-on-secrets', '--root', home.root]))
    expect(existsSync(output)).toBe(false)
    expect(filesIn(directory)).toEqual([])
  })

  test('prints a session without any as it is, and says that none was found', async () => {
    const args = ['prepare', 'x', '--ref', 'clean-session', '--format', 'json', '--root', home.root]
    const plain = await run(args)
    const { status, stdout, stderr } = await run([...args, '--fail-on-secrets'])
    expect({ status, stdout }).toEqual({ status: 0, stdout: plain.stdout })
    expect(stderr).toBe('dsh-ref: No secrets found; best effort, and no proof that there are none\n')
  })
})

describe('check --secrets', () => {
  const check = (...args: string[]) => run(['check', '--all', '--root', home.root, ...args])

  test('finds them in every event, replaced ones and results of tools included, and says where and of which kind', async () => {
    const { status, stdout, stderr } = await check('--secrets', '--format', 'json')
    expect(status).toBe(0)
    const { logs } = JSON.parse(stdout)
    const log = logs.find(({ sessionId }: { sessionId: string }) => sessionId === LEAKY)
    expect(log.status).toBe('issues')
    const secrets = log.findings.filter(({ rule }: { rule: string }) => rule === 'secret')
    const at = (place: object, count?: number) => ({
      severity: 'issue',
      rule: 'secret',
      kind: 'github-token',
      ...place,
      ...(count !== undefined && { count }),
    })
    expect(secrets.map(({ message: _, file: __, ...finding }: Record<string, unknown>) => finding)).toEqual([
      at({ line: 1 }),
      at({ seq: 0 }),
      at({ seq: 1 }),
      at({ seq: 2 }),
      at({ seq: 3 }),
      at({ seq: 4 }),
      at({ seq: 5 }),
      at({ seq: 6 }, 2),
    ])
    expect(leaksIn(JSON.stringify(secrets.map(({ message }: { message: string }) => message)))).toEqual([])
    expect(stderr).toContain('9 secrets found in 1 log; best effort, and no proof that there are no others\n')
  })

  test('ends with status 4 only with --strict, as for any issue, and finds nothing unless asked', async () => {
    expect((await check('--secrets')).status).toBe(0)
    expect((await check('--secrets', '--strict')).status).toBe(4)
    const plain = await check('--strict')
    expect(plain.status).toBe(0)
    expect(plain.stdout).not.toContain('secret:')
  })
})
