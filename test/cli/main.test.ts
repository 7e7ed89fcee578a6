// The program around the commands: help, usage, exit status, signals, broken outputs; print and options as they serve it.
// What a process does is run in one; the commands themselves are tested in their own files.
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { absolutePath, fraction, integer, oneOf, optionsOf, resolveRoots, text } from '../../src/cli/options.ts'
import { createPrint, hasColor, OutputClosed } from '../../src/cli/print.ts'
import { DshRefError } from '../../src/errors.ts'
import { describeIssues } from '../../src/render/issues.ts'
import type { Issue } from '../../src/types.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'

/** Runs the program in this process; outputs come without their last line feed, as from a shell. */
async function run(...args: string[]) {
  const { status, stdout, stderr } = await runProgram(args)
  return { exitCode: status, stdout: stdout.replace(/\n$/, ''), stderr: stderr.replace(/\n$/, '') }
}

/** Runs a bash command in which "$NODE" "$BIN" is the program. */
const shell = (command: string) =>
  execa('bash', ['-c', command], { reject: false, env: { NODE: process.execPath, BIN: PROGRAM } })

let directory: string

beforeAll(async () => {
  if (!existsSync(new URL('../../dist/bundle/main.js', import.meta.url))) {
    throw new Error('dist/bundle/main.js is missing: run "npm run build" before these tests')
  }
  directory = await mkdtemp(join(tmpdir(), 'dsh-ref-main-'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

describe('dsh-ref', () => {
  test.each([[['--version']], [['uri', '-V']], [['uri', 'encode', '--version']]])(
    '%j names the version and the formats read',
    async (args) => {
      const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
        version: string
      }
      expect(await run(...args)).toMatchObject({
        exitCode: 0,
        stdout: `dsh-ref ${version} (reads session formats 0, 1, 2, 3 and 4)`,
        stderr: '',
      })
    },
  )

  test.each([
    [['--help']],
    [['-h']],
    [['help']],
    [['uri', '--help']],
    [['help', 'uri']],
    [['help', 'uri', 'encode']],
    [['help', 'help']],
    [['uri', 'encode', '--help']],
  ])('%j prints help on stdout', async (args) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: dsh-ref /)
    for (const option of ['--root', '--strict', '--quiet', '--color', '--error-format', '--version', '--help']) {
      expect(stdout).toContain(option)
    }
  })

  test.each([[[]], [['uri']]])('%j without a command prints help on stderr and ends with 2', async (args) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: dsh-ref /)
  })

  test.each([
    [['urii'], /^dsh-ref: Unknown command 'urii' \(Did you mean uri\?\); see "dsh-ref --help"/],
    [['uri', 'encod'], /Unknown command 'encod' \(Did you mean encode\?\); see "dsh-ref uri --help"/],
    [['uri', 'encode', '--jsn'], /Unknown option '--jsn' \(Did you mean --json\?\); see "dsh-ref uri encode --help"/],
    [['uri', 'encode', '--quite'], /Unknown option '--quite' \(Did you mean --quiet\?\)/],
    [['--root'], /Option '--root <dir>' argument missing/],
    [
      ['uri', 'encode', '--color', 'blue', 'x'],
      /Option '--color <when>' argument 'blue' is invalid.*auto, always, never/,
    ],
    [
      ['list', '--format', 'jsn'],
      /argument 'jsn' is invalid\. Allowed choices are .*, path; see "dsh-ref list --help"/,
    ],
    [['list', 'one', 'two'], /Expected 1 argument but got 2; see "dsh-ref list --help"/],
    [['help', 'urii'], /Unknown command 'urii' \(Did you mean uri\?\); see "dsh-ref --help"/],
    [['help', 'uri', 'encod'], /Unknown command 'encod' \(Did you mean encode\?\); see "dsh-ref uri --help"/],
  ])('%j is a usage error of one line with status 2', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/ \[SESSION_REFERENCE_INVALID_CONFIG\]$/)
    expect(stderr.split('\n')).toHaveLength(1)
  })

  test.each([
    [
      ['uri', 'decode', 'x', '--error-format', 'json'],
      3,
      { code: 'SESSION_REFERENCE_INVALID_REFERENCE', check: 'scheme', record: 1 },
    ],
    [['--error-format=json', 'uri', 'decode', 'x'], 3, { code: 'SESSION_REFERENCE_INVALID_REFERENCE' }],
    [['uri', 'encod', '--error-format', 'json'], 2, { code: 'SESSION_REFERENCE_INVALID_CONFIG' }],
    [['--error-format', 'json'], 2, { code: 'SESSION_REFERENCE_INVALID_CONFIG' }],
  ])('%j gives the error as one line of JSON', async (args, status, error) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stdout }).toEqual({ exitCode: status, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ error: { ...error, message: expect.any(String) } })
    expect(stderr.split('\n')).toHaveLength(1)
  })

  test('makes control, escape and bidi characters in an error visible', async () => {
    const word = '\u001b[31m\u009b\u202ex'
    expect((await run(word)).stderr).toContain("'\\u001b[31m\\u009b\\u202ex'")
    const { stderr } = await run(word, '--error-format', 'json')
    expect(stderr).not.toMatch(/[\u001b\u009b\u202e]/)
    expect((JSON.parse(stderr) as { error: Error }).error.message).toContain(word)
  })

  test('takes the common options before and after the name of a command', async () => {
    for (const args of [
      ['--quiet', '--root', '/x', 'uri', 'encode', 'x'],
      ['uri', 'encode', 'x', '-q', '--root', '/x', '--root=/y', '--strict'],
    ]) {
      expect(await run(...args)).toMatchObject({ exitCode: 0, stdout: 'dsh-session:Ingi', stderr: '' })
    }
  })

  test('shows the stack of a bug, how to report it, and status 1', async () => {
    const bug = 'data:text/javascript,JSON.parse = () => { throw new TypeError("broken\\u001b[31m") }'
    const runBuggy = (...more: string[]) =>
      execa(process.execPath, ['--import', bug, PROGRAM, 'uri', 'encode', '--json', ...more], {
        reject: false,
        input: '"x"\n',
      })
    const { exitCode, stdout, stderr } = await runBuggy()
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^dsh-ref: This is a bug.*\nTypeError: broken\\u001b\[31m\n {4}at /)
    expect(stderr).toMatch(/Please report .*dsh-ref 0\.1\.0; Node v/)
    const json = await runBuggy('--error-format', 'json')
    expect(json.exitCode).toBe(1)
    expect(json.stderr).toMatch(/^\{"error":\{"code":"BUG","message":"broken/)
  })
})

describe('an output that breaks', () => {
  beforeAll(async () => {
    const ids = Array.from({ length: 50_000 }, (_, index) => String(index))
    await writeFile(join(directory, 'ids'), `${ids.join('\n')}\n`)
    await writeFile(join(directory, 'ids.json'), `${ids.map((id) => JSON.stringify(id)).join('\n')}\n`)
  })

  test.each([
    ['uri encode < "$DIR/ids"'],
    ['uri encode --json < "$DIR/ids.json"'],
    ['uri parse < "$DIR/ids"'],
    ['uri encode -0 < "$DIR/ids"'],
    ['--help'],
  ])('%s | head -c 10 ends quietly with status 0', async (command) => {
    const line = command.replace('$DIR', directory)
    const { stderr, stdout } = await shell(
      `"$NODE" "$BIN" ${line} | head -c 10 > "${directory}/head"; echo "\${PIPESTATUS[0]}"`,
    )
    expect({ stdout, stderr }).toEqual({ stdout: '0', stderr: '' })
    expect((await stat(join(directory, 'head'))).size).toBe(10)
  })

  test('a pipe that nobody reads at all ends quietly with status 0', async () => {
    const { stderr, stdout } = await shell('("$NODE" "$BIN" uri encode x; echo $? >&2) | true')
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '0' })
  })

  test
    .skipIf(!existsSync('/dev/full'))
    .each([['uri encode x'], ['uri parse x'], ['uri encode -0 x'], ['--help'], ['--version']])(
    '%s > /dev/full is status 4 with a message',
    async (command) => {
      const { exitCode, stderr } = await shell(`"$NODE" "$BIN" ${command} > /dev/full`)
      expect(exitCode).toBe(4)
      expect(stderr).toMatch(/^dsh-ref: Cannot write to standard output \(ENOSPC.*\[SESSION_REFERENCE_READ_FAILED\]$/)
    },
  )

  test('a file that takes only the beginning is status 4, never a short file and status 0', async () => {
    const { exitCode, stderr } = await shell(
      `ulimit -f 1; "$NODE" "$BIN" uri encode < "${directory}/ids" > "${directory}/short"`,
    )
    expect(exitCode).toBe(4)
    expect(stderr).toMatch(/Cannot write to standard output \(EFBIG/)
  })

  test('a closed or full stderr changes neither the product nor the status', async () => {
    const { exitCode } = await shell('"$NODE" "$BIN" uri decode x 2> /dev/full')
    expect(exitCode).toBe(3)
    expect(await shell('"$NODE" "$BIN" uri encode x 2>&-')).toMatchObject({ exitCode: 0, stdout: 'dsh-session:Ingi' })
  })
})

describe('a signal', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s while waiting on stdin ends with %i and nothing printed', async (signal, status) => {
    // More than a FIFO holds: once it is written, the program is reading, and soon has nothing left but to wait.
    // Job control gives the program its own SIGINT, which a shell without it turns off for what runs in the background.
    const { stdout, stderr } = await shell(
      `set -m; mkfifo "${directory}/${signal}"
      "$NODE" "$BIN" uri encode < "${directory}/${signal}" & exec 9> "${directory}/${signal}"
      head -c 1000000 /dev/zero | tr '\\0' a >&9; sleep 1; kill -${signal} $!; wait $!; echo "status $?"`,
    )
    expect(stdout).toBe(`status ${status}`)
    expect(stderr).toContain('dsh-ref: Cancelled; nothing was printed [SESSION_REFERENCE_CANCELLED]')
  })

  test('ends a command whose reader has stopped reading', async () => {
    const ids = Array.from({ length: 50_000 }, (_, index) => `${index}\n`).join('')
    const child = execa(process.execPath, [PROGRAM, 'uri', 'encode'], {
      reject: false,
      input: ids,
      buffer: { stdout: false },
    })
    child.stdout.once('readable', () => child.kill('SIGTERM'))
    await new Promise((resolve) => child.once('exit', resolve))
    child.stdout.resume()
    expect((await child).stderr).toContain('Cancelled; the output is not complete')
  })
})

describe('standard input', () => {
  test('that is a directory cannot be read, with status 4', async () => {
    const { exitCode, stdout, stderr } = await shell('"$NODE" "$BIN" uri encode < /')
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' })
    expect(stderr).toContain('Cannot read standard input (it is a directory)')
  })

  test('that is closed counts as empty', async () => {
    expect(await shell('"$NODE" "$BIN" uri encode <&-')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
  })
})

/** A print that writes to memory. */
function memoryPrint(globals: { strict?: boolean; quiet?: boolean } = {}, signal = new AbortController().signal) {
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  const print = createPrint({
    stdout: { write: async (bytes) => void out.push(bytes) },
    stdoutIsTerminal: false,
    stderr: { write: async (bytes) => void err.push(bytes) },
    globals: { strict: false, quiet: false, ...globals },
    signal,
  })
  return { print, out: () => Buffer.concat(out).toString(), err: () => Buffer.concat(err).toString() }
}

describe('issues', () => {
  const tornTail: Issue = { kind: 'torn-tail', message: 'The last row has no end', file: '/x/y', line: 12 }
  const keys = Array.from(
    { length: 9 },
    (_, index): Issue => ({ kind: 'extra-key', message: 'm', file: '/x/z', line: index + 2 }),
  )
  const longPath = `/${'deep/'.repeat(20)}session-a/session.v3.jsonl.zstd`

  test.each<[string, readonly Issue[], string]>([
    ['one with its place', [tornTail], '1 issue: torn tail in /x/y (line 12)'],
    [
      'several of a kind in a file as one',
      [...keys, tornTail],
      '10 issues: extra key in /x/z (line 2 and 8 more); torn tail in /x/y (line 12)',
    ],
    ['one that was met several times', [{ ...tornTail, count: 3 }], '3 issues: torn tail in /x/y (line 12 and 2 more)'],
    [
      'the first three of many',
      ['a', 'b', 'c', 'd', 'e'].map((id): Issue => ({ kind: 'corrupt-log', message: 'm', sessionId: id })),
      '5 issues: corrupt log in a; corrupt log in b; corrupt log in c; and 2 more',
    ],
    [
      'a long path by its end',
      [{ kind: 'invalid-utf8', message: 'm', file: longPath, frame: 2 }],
      '1 issue: invalid utf8 in …/session-a/session.v3.jsonl.zstd (frame 2)',
    ],
  ])('are described: %s', (_, issues, expected) => {
    expect(describeIssues(issues)).toBe(expected)
  })

  test('are one line on stderr, with control characters visible, silenced by --quiet', async () => {
    const issue: Issue = { kind: 'torn-tail', message: 'm', file: '/x/\u001b[31m\ny' }
    const loud = memoryPrint()
    await loud.print.issues([])
    await loud.print.issues([issue])
    expect(loud.err()).toBe('dsh-ref: 1 issue: torn tail in /x/\\u001b[31m\\ny\n')
    const quiet = memoryPrint({ quiet: true })
    await quiet.print.issues([issue])
    expect(quiet.err()).toBe('')
  })

  test('are refused with --strict, as READ_FAILED with their reason', () => {
    memoryPrint().print.refuseIfStrict([tornTail])
    const { print } = memoryPrint({ strict: true })
    print.refuseIfStrict([])
    expect(() => print.refuseIfStrict([tornTail])).toThrow(
      expect.objectContaining({
        code: 'SESSION_REFERENCE_READ_FAILED',
        facts: { reason: 'corrupt', issues: [tornTail] },
      }),
    )
    expect(() => print.refuseIfStrict([{ kind: 'unknown-event-type', message: 'm' }])).toThrow(
      expect.objectContaining({ facts: expect.objectContaining({ reason: 'unsupported' }) }),
    )
  })
})

describe('print', () => {
  test('writes JSON lines of any size in order', async () => {
    const values = Array.from({ length: 3000 }, (_, index) => ({ index, text: 'x'.repeat(100), half: '\ud800' }))
    const { print, out } = memoryPrint()
    await print.jsonLines(values)
    expect(out()).toBe(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  })

  test('prints nothing once the signal has fired', async () => {
    const controller = new AbortController()
    const { print, out } = memoryPrint({}, controller.signal)
    controller.abort()
    await expect(print.out('x')).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    await expect(print.jsonLines(['x'])).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    expect(out()).toBe('')
    expect(print.hasPrinted).toBe(false)
  })

  test.each([
    ['EPIPE', OutputClosed],
    ['ENOSPC', DshRefError],
  ])('tells %s from other failures of stdout', async (code, type) => {
    const { signal } = new AbortController()
    const broken = { write: () => Promise.reject(Object.assign(new Error(code), { code })) }
    const print = createPrint({
      stdout: broken,
      stdoutIsTerminal: false,
      stderr: broken,
      globals: { strict: false, quiet: false },
      signal,
    })
    await expect(print.out('x')).rejects.toBeInstanceOf(type)
    await print.note('nobody hears this')
  })

  test.each([
    ['auto', {}, true, true],
    ['auto', {}, false, false],
    ['auto', { NO_COLOR: '1' }, true, false],
    ['auto', { NO_COLOR: '' }, true, true],
    ['auto', { TERM: 'dumb' }, true, false],
    ['auto', { FORCE_COLOR: '1' }, false, true],
    ['auto', { FORCE_COLOR: '0' }, true, false],
    ['auto', { FORCE_COLOR: '1', NO_COLOR: '1', TERM: 'dumb' }, false, true],
    ['always', { NO_COLOR: '1' }, false, true],
    ['never', { FORCE_COLOR: '1' }, true, false],
  ] as const)('with --color %s, %j and a terminal: %s, colours: %s', (choice, env, isTerminal, expected) => {
    expect(hasColor(choice, env, isTerminal)).toBe(expected)
  })
})

describe('options', () => {
  const shape = {
    maxReferences: integer({ min: 1, max: 3 }),
    contextWindow: integer({ min: 0 }),
    referenceContextFraction: fraction(),
    format: oneOf(['text', 'json', 'chat']),
    output: text(),
  }

  test('come out checked and typed, and undefined when not given', () => {
    const given = { maxReferences: '3', referenceContextFraction: '0.25', format: 'json' }
    expect(optionsOf(given, shape)).toEqual({
      maxReferences: 3,
      contextWindow: undefined,
      referenceContextFraction: 0.25,
      format: 'json',
      output: undefined,
    })
  })

  test.each([
    ['maxReferences', '4', 'Option --max-references is "4"; give a whole number from 1 to 3'],
    ['maxReferences', '0', 'Option --max-references is "0"; give a whole number from 1 to 3'],
    ['maxReferences', '1.5', 'Option --max-references is "1.5"; give a whole number from 1 to 3'],
    ['contextWindow', '-1', 'Option --context-window is "-1"; give a whole number of at least 0'],
    ['contextWindow', '1e3', 'Option --context-window is "1e3"; give a whole number of at least 0'],
    [
      'contextWindow',
      '9007199254740993',
      'Option --context-window is "9007199254740993"; give a whole number of at least 0',
    ],
    ['contextWindow', '', 'Option --context-window is ""; give a whole number of at least 0'],
    ['referenceContextFraction', '1.01', 'Option --reference-context-fraction is "1.01"; give a number from 0 to 1'],
    ['referenceContextFraction', 'NaN', 'Option --reference-context-fraction is "NaN"; give a number from 0 to 1'],
    ['format', 'yaml', 'Option --format is "yaml"; give text, json or chat'],
    ['output', '', 'Option --output is ""; give a text that is not empty'],
  ])('%s %j is refused with what is allowed', (name, value, message) => {
    expect(() => optionsOf({ [name]: value }, shape)).toThrow(
      expect.objectContaining({
        code: 'SESSION_REFERENCE_INVALID_CONFIG',
        message,
        facts: expect.objectContaining({ value }),
      }),
    )
  })

  const place = { cwd: '/work', home: '/home/me' }
  const roots = (root: string[], env: Record<string, string>) =>
    resolveRoots({ ...place, env, globals: { root, strict: false, quiet: false, color: 'auto' } })

  test.each<[string, string[], Record<string, string>, ReturnType<typeof resolveRoots>]>([
    ['the default', [], {}, { from: 'default', paths: ['/home/me/.dsh/sessions'] }],
    ['$DSH_HOME', [], { DSH_HOME: '~/x' }, { from: 'DSH_HOME', paths: ['/home/me/x/sessions'] }],
    ['a relative $DSH_HOME', [], { DSH_HOME: 'x' }, { from: 'DSH_HOME', paths: ['/work/x/sessions'] }],
    ['a blank $DSH_HOME as none', [], { DSH_HOME: '  ' }, { from: 'default', paths: ['/home/me/.dsh/sessions'] }],
    [
      '$DSH_REF_ROOT before $DSH_HOME',
      [],
      { DSH_REF_ROOT: `/a${delimiter}${delimiter}~${delimiter}b`, DSH_HOME: '/h' },
      { from: 'DSH_REF_ROOT', paths: ['/a', '/home/me', '/work/b'] },
    ],
    [
      'a blank $DSH_REF_ROOT as none',
      [],
      { DSH_REF_ROOT: ' ', DSH_HOME: '/h' },
      { from: 'DSH_HOME', paths: ['/h/sessions'] },
    ],
    [
      '--root before all, once each',
      ['~/r', '/r', '/r/'],
      { DSH_REF_ROOT: '/a', DSH_HOME: '/h' },
      { from: '--root', paths: ['/home/me/r', '/r'] },
    ],
  ])('roots: %s', (_, root, env, expected) => {
    expect(roots(root, env)).toEqual(expected)
  })

  test('an empty --root is refused', () => {
    expect(() => roots([''], {})).toThrow(expect.objectContaining({ code: 'SESSION_REFERENCE_INVALID_CONFIG' }))
  })

  test('a tilde in the middle of a path is part of a name', () => {
    expect(absolutePath('/a/~/b', place)).toBe('/a/~/b')
    expect(absolutePath('~me', place)).toBe('/work/~me')
  })
})
