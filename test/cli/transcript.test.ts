// `dsh-ref transcript` in a shell: formats, shadowed messages, exact texts out of artifacts, and grep with its status.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPrint } from '../../src/cli/print.ts'
import { transcript as transcriptBody } from '../../src/cli/transcript.ts'
import { decodeTranscript } from '../../src/transcript/transcript.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'

const home = makeHome()
const temporary = mkdtempSync(join(tmpdir(), 'dsh-ref-transcript-'))

const TEXT = `${'x'.repeat(60)}needle in "quotes"\n\tand a tab 😀`

/** Two compactions, the second taking the place of the first checkpoint and of what followed. */
const TWICE = [
  { user: 'first question' },
  { assistant: 'first answer' },
  { tool: 'tool output' },
  { checkpoint: 'summary one', from: 0, to: 2, sources: [0, 1, 2] },
  { user: 'second question' },
  { assistant: 'second answer' },
  { checkpoint: 'summary two', from: 3, to: 5, sources: [3, 4, 5] },
  { user: 'third question' },
] as const

beforeAll(() => {
  home.write(chatLog('plain-session', [{ title: 'Plain work' }, { user: TEXT }, { assistant: 'Answer' }]))
  home.write(chatLog('twice-compacted', TWICE))
  home.write(chatLog('decode', [{ user: 'I am called decode' }]))
})

afterAll(() => {
  home.remove()
  rmSync(temporary, { recursive: true, force: true })
})

async function run(args: readonly string[], input: string | Buffer = '') {
  const env = { DSH_REF_ROOT: home.root, DSH_REF_SPILL_DIR: '' }
  const { stdout, stderr, status } = await runProgram(['transcript', ...args], { input, cwd: temporary, env })
  return { stdout, stderr, exitCode: status }
}

/** Writes the artifact of a session into the temporary directory. */
async function saved(session: string, name: string): Promise<string> {
  const path = join(temporary, name)
  writeFileSync(path, (await run([session])).stdout)
  return path
}

describe('transcript', () => {
  test('prints the artifact, byte for byte as prepare saves it', async () => {
    const spill = join(temporary, 'spill')
    const saving = ['--max-reference-bytes', '200', '--spill-dir', spill, '--format', 'json']
    const args = ['prepare', '--ref', 'plain-session', ...saving, '--output', join(temporary, 'prepared.json')]
    await runProgram(args, { env: { DSH_REF_ROOT: home.root } })
    const prepared = readFileSync(join(temporary, 'prepared.json'), 'utf8')
    const [, locator = ''] = /\\"locator\\":\\"(.*?)\\"/.exec(prepared) ?? []
    const { stdout, stderr, exitCode } = await run(['plain-session'])
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
    expect(stdout).toBe(readFileSync(locator, 'utf8'))
    expect(decodeTranscript(stdout)).toEqual({
      capture: { sessionId: 'plain-session', label: 'Plain work', cwd: '/work/app', capturedThroughSeq: 2 },
      messages: [
        { role: 'user', text: TEXT },
        { role: 'assistant', text: 'Answer' },
      ],
    })
  })

  test('takes the label of a mention, a log on standard input, and a path', async () => {
    const [uri] = (await runProgram(['uri', 'encode', 'plain-session'])).stdout.split('\n')
    expect(decodeTranscript((await run([`@[My label](${uri})`])).stdout).capture.label).toBe('My label')
    const log = chatLog('piped', [{ user: 'x' }])
    expect(decodeTranscript((await run(['-'], log)).stdout).capture.sessionId).toBe('piped')
    writeFileSync(join(temporary, 'odd.jsonl'), log)
    expect(decodeTranscript((await run(['./odd.jsonl'])).stdout).capture.sessionId).toBe('piped')
  })

  test('prints the data object and its facts as JSON', async () => {
    const { stdout } = await run(['twice-compacted', '--format', 'json'])
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      data: {
        sessionId: 'twice-compacted',
        label: 'twice-compacted',
        cwd: '/work/app',
        capturedThroughSeq: 7,
        conversation: [
          { role: 'user', text: 'summary two' },
          { role: 'user', text: 'third question' },
        ],
      },
      facts: {
        compacted: true,
        originalMessages: 2,
        retainedMessages: 2,
        omittedMessages: 0,
        omittedBytes: 0,
        truncated: false,
      },
      issues: [],
    })
  })

  test('prints Markdown and text for people', async () => {
    expect((await run(['plain-session', '--format', 'markdown'])).stdout).toContain(
      `\n## 1. user\n\n\`\`\`text\n${TEXT}\n\`\`\`\n`,
    )
    expect((await run(['plain-session', '--format', 'text'])).stdout).toBe(
      `[1] user\n    ${TEXT.replace('\n', '\n    ')}\n\n[2] assistant\n    Answer\n`,
    )
  })

  test('adds both generations of shadowed messages on request, in log order with what shadows them', async () => {
    const shadowed = [
      { seq: 0, shadowedBySeq: 3, role: 'user', text: 'first question' },
      { seq: 1, shadowedBySeq: 3, role: 'assistant', text: 'first answer' },
      { seq: 3, shadowedBySeq: 6, role: 'user', text: 'summary one' },
      { seq: 4, shadowedBySeq: 6, role: 'user', text: 'second question' },
      { seq: 5, shadowedBySeq: 6, role: 'assistant', text: 'second answer' },
    ]
    const plain = await run(['twice-compacted'])
    const spill = await run(['twice-compacted', '--include-shadowed'])
    const json = await run(['twice-compacted', '--include-shadowed', '--format', 'json'])
    const markdown = await run(['twice-compacted', '--include-shadowed', '--format', 'markdown'])
    const text = await run(['twice-compacted', '--include-shadowed', '--format', 'text'])
    expect(decodeTranscript(spill.stdout)).toEqual({ ...decodeTranscript(plain.stdout), shadowed })
    expect(spill.stdout.startsWith(plain.stdout)).toBe(true)
    expect(JSON.parse(json.stdout).shadowed).toEqual(shadowed)
    expect(markdown.stdout).toContain('## user, seq 3, shadowed by seq 6\n\n```text\nsummary one\n```')
    expect(text.stdout).toContain('[shadowed, seq 5, by seq 6] assistant\n    second answer\n')
    for (const { stdout } of [spill, markdown]) expect(stdout).toContain("no longer part of the session's surface")
  })

  test('never gives prepare anything that is shadowed', async () => {
    const args = ['prepare', '--ref', 'twice-compacted', '--format', 'snapshot']
    const { stdout } = await runProgram(args, { env: { DSH_REF_ROOT: home.root } })
    expect(stdout).toContain('summary two')
    expect(stdout).not.toMatch(/first|second|summary one/)
  })

  test('reaches a session that is called like a subcommand with "id:"', async () => {
    expect(decodeTranscript((await run(['id:decode'])).stdout).messages).toEqual([
      { role: 'user', text: 'I am called decode' },
    ])
  })

  test('shows a terminal nothing that would drive it', async () => {
    home.write(chatLog('hostile', [{ user: 'a\u001b[31m\u202e\tb\r\n```' }]))
    const printed: string[] = []
    const globals = { root: [home.root], strict: false, quiet: false, color: 'auto' } as const
    const { signal } = new AbortController()
    const stdout = { write: async (bytes: Uint8Array) => void printed.push(Buffer.from(bytes).toString()) }
    const terminal = { isTerminal: true, hasColor: false, columns: 80 }
    const context = {
      print: createPrint({ stdout, stdoutIsTerminal: true, stderr: stdout, globals, signal }),
      stdin: { isTerminal: true, chunks: () => (async function* () {})() },
      stdout: terminal,
      stderr: terminal,
      env: {},
      shellEnv: {},
      cwd: temporary,
      home: temporary,
      globals,
      signal,
    }
    for (const format of ['spill', 'markdown', 'text', 'json']) await transcriptBody(context, ['hostile'], { format })
    expect(printed).toHaveLength(4)
    expect(printed.join('')).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
  })

  test('reads a prefix of a damaged log with --salvage only, and says so', async () => {
    const damaged = chatLog('damaged', [{ user: 'kept' }, { checkpoint: 'lost', from: 7, to: 7, sources: [0] }])
    expect(await run(['-'], damaged)).toMatchObject({ exitCode: 4, stdout: '' })
    const { stdout, stderr } = await run(['-', '--salvage', '--format', 'json'], damaged)
    expect(JSON.parse(stdout)).toMatchObject({
      data: { conversation: [{ role: 'user', text: 'kept' }] },
      degraded: { throughSeq: 0 },
    })
    expect(stderr).toMatch(/1 issue: salvaged/)
    expect(await run(['grep', 'kept', '--salvage'], damaged)).toMatchObject({ exitCode: 0, stdout: '1:user:kept\n' })
    expect(await run(['grep', 'kept'], damaged)).toMatchObject({ exitCode: 4, stdout: '' })
  })

  test('names what is wrong with its arguments', async () => {
    expect(await run([])).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await run(['--format', 'xml', 'plain-session'])).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await run(['no-such-session'])).toMatchObject({ exitCode: 4, stdout: '' })
    for (const option of ['--include-shadowed', '--salvage', '--format=text']) {
      const misplaced = await run([option, 'decode', 'x'])
      expect(misplaced).toMatchObject({ exitCode: 2, stdout: '' })
      expect(misplaced.stderr).toMatch(/transcript decode.*stand behind/)
    }
    // What all commands take may stand anywhere.
    expect(await run(['--root', home.root, '-q', 'grep', 'Answer', 'plain-session'])).toMatchObject({ exitCode: 0 })
  })
})

describe('transcript decode', () => {
  test('gives the exact texts back, from a file and from standard input', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const fromFile = await run(['decode', path])
    expect(JSON.parse(fromFile.stdout)).toEqual({ schemaVersion: 1, ...decodeTranscript(readFileSync(path, 'utf8')) })
    const piped = readFileSync(path)
    expect((await run(['decode'], piped)).stdout).toBe(fromFile.stdout)
    expect((await run(['decode', '-'], piped)).stdout).toBe(fromFile.stdout)
  })

  test('prints one message, as text without a byte more', async () => {
    const path = await saved('plain-session', 'plain.txt')
    expect((await run(['decode', path, '--message', '1', '--format', 'text'])).stdout).toBe(TEXT)
    expect((await run(['decode', path, '--message', '2'])).stdout).toBe('{"role":"assistant","text":"Answer"}\n')
    const beyond = await run(['decode', path, '--message', '3'])
    expect(beyond).toMatchObject({ exitCode: 2, stdout: '' })
    expect(beyond.stderr).toMatch(/messages 1 to 2/)
  })

  test('prints all messages as text', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const { stdout } = await run(['decode', path, '--format', 'text'])
    expect(stdout).toBe((await run(['plain-session', '--format', 'text'])).stdout)
  })

  test('refuses what is damaged, missing or not text, and prints nothing', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const damaged = await run(['decode'], readFileSync(path, 'utf8').replace('"Answer"', '"Answer'))
    expect(damaged).toMatchObject({ exitCode: 4, stdout: '' })
    expect(damaged.stderr).toMatch(/<stdin> is damaged at line \d+.*\[SESSION_REFERENCE_READ_FAILED\]/)
    expect(await run(['decode', 'missing.txt'])).toMatchObject({ exitCode: 4, stdout: '' })
    expect(await run(['decode'], Buffer.from([0xff, 0x7b]))).toMatchObject({ exitCode: 4, stdout: '' })
  })
})

describe('transcript grep', () => {
  test('finds what crosses fragments, lines and escapes', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const lines = TEXT.split('\n')
    for (const args of [['needle in "quotes"\\s+and'], ['-F', 'needle in "quotes"\n\tand']]) {
      const { stdout, exitCode } = await run(['grep', ...args, path])
      expect({ stdout, exitCode }).toEqual({ stdout: `1:user:${lines[0]}\n1:user:${lines[1]}\n`, exitCode: 0 })
    }
  })

  test('ends with status 1 and prints nothing when nothing is found', async () => {
    expect(await run(['grep', 'nowhere', 'plain-session'])).toEqual({ stdout: '', stderr: '', exitCode: 1 })
    expect(await run(['grep', '--count', 'nowhere', 'plain-session'])).toEqual({
      stdout: '0\n',
      stderr: '',
      exitCode: 1,
    })
  })

  test('names the source when there are several, of files and sessions alike', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const { stdout } = await run(['grep', 'Answer|question', path, 'twice-compacted', 'plain-session'])
    expect(stdout).toBe(
      `${path}:2:assistant:Answer\ntwice-compacted:2:user:third question\nplain-session:2:assistant:Answer\n`,
    )
    const counted = await run(['grep', '-c', 'Answer|question', path, 'decode'])
    expect(counted.stdout).toBe(`${path}:1\ndecode:0\n`)
  })

  test('ignores case and takes plain text on request', async () => {
    expect((await run(['grep', 'answer', 'plain-session'])).exitCode).toBe(1)
    expect((await run(['grep', '-i', 'answer', 'plain-session'])).exitCode).toBe(0)
    expect((await run(['grep', '-F', 'ans.er', 'plain-session'])).exitCode).toBe(1)
    expect((await run(['grep', '-F', '"quotes"', 'plain-session'])).exitCode).toBe(0)
    expect((await run(['grep', '^😀|.😀$', 'plain-session'])).exitCode).toBe(0)
  })

  test('shows lines around a match', async () => {
    home.write(chatLog('lines', [{ user: 'one\ntwo\nthree\nfour' }, { assistant: 'two' }]))
    const { stdout } = await run(['grep', '--context', '1', 'two', 'lines'])
    expect(stdout).toBe('1-user-one\n1:user:two\n1-user-three\n--\n2:assistant:two\n')
  })

  test('reads an artifact, or a log, on standard input', async () => {
    const path = await saved('plain-session', 'plain.txt')
    const expected = { stdout: '2:assistant:Answer\n', stderr: '', exitCode: 0 }
    expect(await run(['grep', 'Answer'], readFileSync(path))).toEqual(expected)
    expect(await run(['grep', 'Answer', '-'], readFileSync(path))).toEqual(expected)
    const log = chatLog('piped', [{ user: 'x' }, { assistant: 'Answer' }])
    expect(await run(['grep', 'Answer'], log)).toEqual(expected)
  })

  test('takes a session for a directory or a log, and a file for anything else that exists', async () => {
    mkdirSync(join(temporary, 'lines'), { recursive: true })
    expect((await run(['grep', 'three', 'lines'])).exitCode).toBe(0)
    const path = home.write(chatLog('by-path', [{ user: 'here' }]))
    expect((await run(['grep', 'here', path])).stdout).toBe('1:user:here\n')
    writeFileSync(join(temporary, 'plain-session'), 'no transcript')
    expect((await run(['grep', 'Answer', 'plain-session'])).exitCode).toBe(4)
    expect((await run(['grep', 'Answer', 'id:plain-session'])).exitCode).toBe(0)
    rmSync(join(temporary, 'plain-session'))
  })

  test('prints nothing when one source cannot be read or the pattern is wrong', async () => {
    expect(await run(['grep', 'Answer', 'plain-session', 'no-such-session'])).toMatchObject({ exitCode: 4, stdout: '' })
    const wrong = await run(['grep', '(', 'plain-session'])
    expect(wrong).toMatchObject({ exitCode: 2, stdout: '' })
    expect(wrong.stderr).toMatch(/--fixed-strings/)
    expect(await run(['grep', 'x', '-', '-'], 'x')).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await run(['grep'])).toMatchObject({ exitCode: 2, stdout: '' })
  })

  test('ends quietly when nobody reads on', async () => {
    home.write(chatLog('much', [{ user: 'line\n'.repeat(100_000) }]))
    const result = await execa({
      shell: 'bash',
      env: { DSH_REF_ROOT: home.root },
    })`"${process.execPath}" "${PROGRAM}" transcript grep line much | head -n 1; echo "\${PIPESTATUS[0]}"`
    expect(result).toMatchObject({ stdout: '1:user:line\n0', stderr: '' })
  })
})
