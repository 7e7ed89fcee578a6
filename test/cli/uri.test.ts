// `dsh-ref uri`: records in and out, all or nothing, every JavaScript string. What a URI is, is tested in test/uri.test.ts.
import { existsSync } from 'node:fs'
import { execa } from 'execa'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CommandBody, type CommandContext, type CommandOptions, createPrint } from '../../src/cli/print.ts'
import { decode, encode, mention, parse } from '../../src/cli/uri.ts'
import type { DshRefError } from '../../src/errors.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'

interface Run {
  readonly args?: readonly string[]
  readonly options?: CommandOptions
  /** Chunks of standard input; without any, it is a terminal. */
  readonly stdin?: readonly (string | Uint8Array)[]
  readonly stdoutIsTerminal?: boolean
}

/** Runs the body of a command in this process; a refusal comes back as `error`. */
async function run(body: CommandBody, { args = [], options = {}, stdin, stdoutIsTerminal = false }: Run) {
  const written: Uint8Array[] = []
  const globals = { root: [], strict: false, quiet: false, color: 'auto' } as const
  const signal = new AbortController().signal
  const stdout = { write: async (bytes: Uint8Array) => void written.push(bytes) }
  const context: CommandContext = {
    print: createPrint({ stdout, stdoutIsTerminal, stderr: stdout, globals, signal }),
    stdin: {
      isTerminal: stdin === undefined,
      async *chunks() {
        for (const chunk of stdin ?? []) yield Buffer.from(chunk)
      },
    },
    stdout: { isTerminal: stdoutIsTerminal, hasColor: false, columns: undefined },
    stderr: { isTerminal: false, hasColor: false, columns: undefined },
    env: {},
    shellEnv: {},
    cwd: '/',
    home: '/',
    globals,
    signal,
  }
  const error = await body(context, args, options).then(
    () => undefined,
    (thrown: DshRefError) => thrown,
  )
  return { stdout: Buffer.concat(written).toString(), error }
}

const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** Every JavaScript string: whole pairs, halves, controls, separators. */
const anyString = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
  fc
    .array(fc.constantFrom('\n', '\r', '\0', '\ud800', '\udc00', '\ufeff', '\\', ']', '"', '😀'), { maxLength: 8 })
    .map((parts) => parts.join('')),
)

describe('uri', () => {
  test('converts each argument, one a line', async () => {
    expect(await run(encode, { args: ['abc', 'x'] })).toEqual({ stdout: 'dsh-session:ImFiYyI\ndsh-session:Ingi\n' })
    expect(await run(decode, { args: ['dsh-session:ImFiYyI', 'dsh-session:Ingi'] })).toEqual({ stdout: 'abc\nx\n' })
    expect(await run(mention, { args: ['abc', 'a]b'] })).toEqual({
      stdout: '@[abc](dsh-session:ImFiYyI)\n@[a\\]b](dsh-session:ImFdYiI)\n',
    })
    expect(await run(parse, { args: ['see @[Notes](dsh-session:ImFiYyI)', 'two\nlines'] })).toEqual({
      stdout: lines([
        { text: 'see @Notes', references: [{ sessionId: 'abc', label: 'Notes' }] },
        { text: 'two\nlines', references: [] },
      ]),
    })
  })

  test('reads lines of standard input without arguments and with "-"', async () => {
    const expected = { stdout: 'dsh-session:ImFiYyI\ndsh-session:Ingi\n' }
    expect(await run(encode, { stdin: ['abc\nx\n'] })).toEqual(expected)
    expect(await run(encode, { args: ['-'], stdin: ['abc\nx\n'] })).toEqual(expected)
  })

  test('takes a last line without a newline, an empty line and lines that end in CRLF', async () => {
    expect(await run(encode, { stdin: ['abc'] })).toEqual({ stdout: 'dsh-session:ImFiYyI\n' })
    expect(await run(encode, { stdin: ['\nabc\r\n'] })).toEqual({ stdout: 'dsh-session:IiI\ndsh-session:ImFiYyI\n' })
    expect(await run(encode, { stdin: [] })).toEqual({ stdout: '' })
  })

  test('keeps a byte order mark at the start of the input', async () => {
    const { stdout } = await run(encode, { stdin: ['\ufeffx\n'] })
    expect(await run(decode, { stdin: [stdout] })).toEqual({ stdout: '\ufeffx\n' })
  })

  test('reads the same records wherever the input is cut into chunks', async () => {
    const input = Buffer.from('会话\na\r\n\n😀')
    const whole = await run(encode, { stdin: [input] })
    for (let first = 0; first <= input.length; first++) {
      for (let second = first; second <= input.length; second++) {
        const stdin = [input.subarray(0, first), input.subarray(first, second), input.subarray(second)]
        expect(await run(encode, { stdin })).toEqual(whole)
      }
    }
  })

  test('keeps records exact with -0, line breaks included', async () => {
    const options = { null: true }
    const { stdout } = await run(encode, { options, stdin: ['a\r\n\0\0b'] })
    expect(stdout.split('\0')).toHaveLength(4)
    expect(await run(decode, { options, stdin: [stdout] })).toEqual({ stdout: 'a\r\n\0\0b\0' })
    expect(await run(parse, { options, stdin: ['x\ny\0'] })).toEqual({ stdout: '{"text":"x\\ny","references":[]}\0' })
  })

  test('takes arguments as plain text with --json', async () => {
    const options = { json: true }
    expect(await run(encode, { options, args: ['"abc"'] })).toEqual({ stdout: '"dsh-session:IlwiYWJjXCIi"\n' })
    expect(await run(decode, { options, args: ['dsh-session:ImFiYyI'] })).toEqual({ stdout: '"abc"\n' })
    expect(await run(mention, { options, args: ['abc'] })).toEqual({ stdout: '"@[abc](dsh-session:ImFiYyI)"\n' })
  })

  test('labels a mention with --label, or each with JSON', async () => {
    expect(await run(mention, { args: ['abc'], options: { label: 'a]b' } })).toEqual({
      stdout: '@[a\\]b](dsh-session:ImFiYyI)\n',
    })
    const records = [{ sessionId: 'abc', label: 'one\ntwo' }, { sessionId: 'abc' }, { sessionId: 'abc', label: '' }]
    expect(await run(mention, { options: { json: true }, stdin: [lines(records)] })).toEqual({
      stdout: lines(['@[one\ntwo](dsh-session:ImFiYyI)', '@[abc](dsh-session:ImFiYyI)', '@[](dsh-session:ImFiYyI)']),
    })
  })

  test('refuses --label for more than one session', async () => {
    const { stdout, error } = await run(mention, { args: ['a', 'b'], options: { label: 'x' } })
    expect(stdout).toBe('')
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_INVALID_CONFIG', facts: { option: '--label', record: 2 } })
  })

  test.each([
    ['a URI of another scheme', decode, {}, 'dsh-session:ImFiYyI\nhttps://x\n', 'scheme'],
    ['a URI that is not canonical', decode, {}, 'dsh-session:ImFiYyI\ndsh-session:ImFiIh\n', 'canonical'],
    ['a malformed mention', parse, {}, 'ok\n@[x](dsh-session:%)\n', 'alphabet'],
    ['bytes that are not UTF-8', encode, {}, Buffer.from('ok\n\xff\n', 'latin1'), 'utf8'],
    ['bytes that are not UTF-8 with -0', encode, { null: true }, Buffer.from('ok\0\xff\0', 'latin1'), 'utf8'],
    ['a line that is not JSON', encode, { json: true }, '"ok"\nabc\n', 'json'],
    ['an empty line of JSON', encode, { json: true }, '"ok"\n\n', 'json'],
    ['JSON of another type', encode, { json: true }, '"ok"\n12\n', 'string'],
    ['a null', parse, { json: true }, '"ok"\nnull\n', 'string'],
    ['a mention record that is a string', mention, { json: true }, '{"sessionId":"ok"}\n"x"\n', 'reference'],
    ['a mention record that is null', mention, { json: true }, '{"sessionId":"ok"}\nnull\n', 'reference'],
    [
      'a label that is no string',
      mention,
      { json: true },
      '{"sessionId":"ok"}\n{"sessionId":"a","label":1}\n',
      'reference',
    ],
  ])('prints nothing and names the record and the check for %s', async (_, body, options, input, check) => {
    const { stdout, error } = await run(body, { options, stdin: [input] })
    expect(stdout).toBe('')
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_INVALID_REFERENCE', facts: { check, record: 2 } })
    expect(error?.message).toMatch(/^Record 2: /)
  })

  test.each([
    ['a newline in a line', 'a\nb', {}, 'line-break', /-0 or --json/],
    ['a return at the end of a line', 'a\r', {}, 'line-break', /-0 or --json/],
    ['a NUL in a NUL-separated record', 'a\0b', { null: true }, 'nul', /--json/],
    ['half a surrogate pair in a line', '\ud800', {}, 'surrogate', /--json/],
    ['half a surrogate pair in a NUL-separated record', '\ud800', { null: true }, 'surrogate', /--json/],
  ])('refuses to print %s, and says what to use', async (_, id, options, check, advice) => {
    const uri = (await run(encode, { options: { json: true }, stdin: [lines([id])] })).stdout
    const args = [JSON.parse(uri) as string]
    const refused = await run(decode, { args, options })
    expect(refused.stdout).toBe('')
    expect(refused.error).toMatchObject({ code: 'SESSION_REFERENCE_INVALID_REFERENCE', facts: { check, record: 1 } })
    expect(refused.error?.message).toMatch(advice)
    expect(await run(decode, { args, options: { json: true } })).toEqual({ stdout: lines([id]) })
  })

  test('shows on a terminal what would drive it', async () => {
    const id = '\u001b[31m\u202e'
    const { stdout: uri } = await run(encode, { args: [id] })
    expect(await run(decode, { args: [uri.trim()], stdoutIsTerminal: true })).toEqual({
      stdout: '\\u001b[31m\\u202e\n',
    })
    const json = await run(decode, { args: [uri.trim()], options: { json: true }, stdoutIsTerminal: true })
    expect(json.stdout).toBe('"\\u001b[31m\\u202e"\n')
  })

  test('explains itself instead of waiting for a terminal', async () => {
    const { error } = await run(encode, {})
    expect(error?.code).toBe('SESSION_REFERENCE_INVALID_CONFIG')
    expect(error?.message).toMatch(/No session ids given.*arguments.*standard input/)
  })

  test('refuses "-" beside other arguments', async () => {
    const { stdout, error } = await run(encode, { args: ['a', '-'], stdin: ['b\n'] })
    expect(stdout).toBe('')
    expect(error?.code).toBe('SESSION_REFERENCE_INVALID_CONFIG')
  })

  test('passes every JavaScript string through encode --json and decode --json', async () => {
    const options = { json: true }
    await fc.assert(
      fc.asyncProperty(fc.array(anyString, { maxLength: 4 }), async (ids) => {
        const encoded = await run(encode, { options, stdin: [lines(ids)] })
        expect(await run(decode, { options, stdin: [encoded.stdout] })).toEqual({ stdout: lines(ids) })
      }),
      { numRuns: 1000 },
    )
  })

  test('passes every JavaScript string through encode and decode, or says that it cannot print it', async () => {
    await fc.assert(
      fc.asyncProperty(anyString, fc.boolean(), async (id, isNull) => {
        const options = isNull ? { null: true } : {}
        const { stdout } = await run(encode, { args: [id], options })
        const decoded = await run(decode, { stdin: [stdout], options })
        if (decoded.error === undefined) expect(decoded.stdout).toBe(id + (isNull ? '\0' : '\n'))
        else expect(decoded).toMatchObject({ stdout: '', error: { code: 'SESSION_REFERENCE_INVALID_REFERENCE' } })
      }),
      { numRuns: 1000 },
    )
  })

  test('finds in parse --json what mention --json wrote', async () => {
    const options = { json: true }
    await fc.assert(
      fc.asyncProperty(anyString, anyString, async (sessionId, label) => {
        const written = await run(mention, { options, stdin: [lines([{ sessionId, label }])] })
        const { stdout } = await run(parse, { options, stdin: [written.stdout] })
        expect(JSON.parse(stdout)).toEqual({ text: `@${label}`, references: [{ sessionId, label }] })
      }),
      { numRuns: 1000 },
    )
  })
})

describe('dsh-ref uri in a shell', () => {
  beforeAll(() => {
    if (!existsSync(new URL('../../dist/bundle/main.js', import.meta.url))) {
      throw new Error('dist/bundle/main.js is missing: run "npm run build" before these tests')
    }
  })

  test('passes every JavaScript string through uri encode --json | uri decode --json', async () => {
    const ids = [
      '',
      'abc',
      '会话 😀',
      'a\nb\r\n\0\u001b',
      '\ud800',
      '\udc00\ud800',
      '\ufeffx',
      '"\\]',
      ...fc.sample(anyString, 200),
    ]
    const { stdout } = await execa({
      input: lines(ids),
      stripFinalNewline: false,
      shell: 'bash',
    })`set -o pipefail; "${process.execPath}" "${PROGRAM}" uri encode --json | "${process.execPath}" "${PROGRAM}" uri decode --json`
    expect(stdout).toBe(lines(ids))
  })

  test('ends with status 3 and an empty stdout for a bad record', async () => {
    const result = await runProgram(['uri', 'decode'], { input: 'dsh-session:ImFiYyI\nnonsense\n' })
    expect(result).toMatchObject({ status: 3, stdout: '' })
    expect(result.stderr).toMatch(/^dsh-ref: Record 2: .*"nonsense".* \[SESSION_REFERENCE_INVALID_REFERENCE\]\n$/)
  })

  test('refuses a bad first record without waiting for the end of the input', async () => {
    const result = await execa({ reject: false, shell: 'bash' })`yes | "${process.execPath}" "${PROGRAM}" uri decode`
    expect(result).toMatchObject({ exitCode: 3, stdout: '' })
  })

  test('takes an id that looks like an option after "--"', async () => {
    const { stdout } = await runProgram(['uri', 'encode', '--', '--json', '-0'])
    expect(stdout.trimEnd().split('\n')).toHaveLength(2)
  })

  test('refuses -0 together with --json', async () => {
    const result = await runProgram(['uri', 'encode', '-0', '--json', 'x'])
    expect(result).toMatchObject({ status: 2, stdout: '' })
    expect(result.stderr).toMatch(/--json.*cannot be used with.*--null/)
  })
})
