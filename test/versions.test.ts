// The built program and library on the oldest Node of `engines` and on 24, in an exhaustive run on Node 22 without and with
// zstd in node:zlib, too: the same bytes come out of each.

import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatLog } from './support/chat-log.ts'
import { chosenOf } from './support/exhaustive.ts'
import { NEWER_VERSION, newerNode } from './support/newer-node.ts'
import { type FoundNode, nodeOf } from './support/nodes.ts'
import { type Outcome, PROGRAM, run as runProgram } from './support/program.ts'
import { isInstalled, openTerminal } from './support/terminal.ts'
import { compressWithNewerNode } from './support/zstd-writer.ts'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const { version, engines } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'))
const OLDEST = `${engines.node.replace('>=', '')}.0`

/** The ends of the range; those between have either what the one or what the other has. */
const ENDS = [
  { node: OLDEST, hasZstd: false, canRequire: false },
  { node: NEWER_VERSION, hasZstd: true, canRequire: true },
]
const BETWEEN = [
  { node: '22.11.0', hasZstd: false, canRequire: false },
  { node: '22.23.3', hasZstd: true, canRequire: true },
]
const VERSIONS = chosenOf(ENDS, [...ENDS, ...BETWEEN])

const COMMANDS: readonly (readonly string[])[] = [
  ['--version'],
  ['--help'],
  ['list', '--all', '--long'],
  ['list', '--format', 'json'],
  ['prepare', '--ref', 'login-fix', 'Go on.'],
  ['prepare', '--ref', 'checkout-tests', '--format', 'json', 'Go on.'],
  ['prepare', '--ref', 'login-fix', '--max-reference-bytes', '300', 'Go on.'],
  ['surface', 'checkout-tests', '--format', 'json'],
  ['transcript', 'scratch', '--format', 'markdown'],
  ['check', '--all', '--format', 'json'],
  ['config'],
  ['prepare', '--ref', 'many-frames', 'Go on.'],
  ['check', 'many-frames', '--format', 'json'],
  ['uri', 'encode', 'abc'],
  ['uri', 'parse', 'see @[Notes](dsh-session:ImFiYyI)'],
  ['prepare', '--ref', 'no-such-session', 'Go on.'],
]

const found = new Map<string, FoundNode>()
let folder: string
let home: string
/** What every command does in this process, on the Node that runs the tests. */
let expected: Awaited<ReturnType<typeof runAll>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dsh-ref-versions-'))
  home = join(folder, 'home')
  cpSync(join(REPOSITORY, 'fixtures/home/sessions'), home, { recursive: true, preserveTimestamps: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(REPOSITORY, join(folder, 'node_modules/dsh-ref'), 'junction')
  for (const { node } of VERSIONS) found.set(node, await nodeOf(node))
  if (await newerNode()) await writeManyFrames()
  expected = await runAll()
}, 700_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const environment = () => ({
  DSH_REF_ROOT: home,
  DSH_HOME: '',
  DSH_SESSION_JSONL: '',
  // Each run reads the logs itself: none finds what another has read.
  DSH_REF_CACHE_DIR: mkdtempSync(join(folder, 'cache-')),
  NODE_OPTIONS: '',
})

/** A log for every decoder: small frames, one too large for a single call, and more small ones than are worth wasm-zstd. */
async function writeManyFrames(): Promise<void> {
  const digits = (seed: number, length: number) => {
    let text = ''
    for (let part = 0; text.length < length; part++)
      text += createHash('sha256').update(`${seed}-${part}`).digest('hex')
    return text
  }
  const steps = Array.from({ length: 200 }, (_, seq) => ({
    user: `${seq} ${digits(seq, seq === 40 ? 700_000 : 8000)}`,
  }))
  const rows = chatLog('many-frames', steps).split(/(?<=\n)/)
  const directory = join(home, '--work-app--/many-frames')
  mkdirSync(directory, { recursive: true })
  const frames = await compressWithNewerNode(rows.map((row) => Buffer.from(row)))
  expect(frames.reduce((bytes, frame) => bytes + frame.length, 0)).toBeGreaterThan(1024 * 1024)
  writeFileSync(join(directory, 'session.jsonl.zstd'), Buffer.concat(frames))
}

/** What a Node prints, and how it ends. */
async function run(node: string, args: readonly string[]): Promise<Outcome> {
  const { exitCode, stdout, stderr } = await execa(node, args, {
    cwd: folder,
    reject: false,
    stripFinalNewline: false,
    input: '',
    env: environment(),
  })
  return withoutCacheName({ status: exitCode, stdout, stderr })
}

/** An outcome without the one path that differs from run to run. */
function withoutCacheName({ stdout, ...outcome }: Outcome): Outcome {
  return { ...outcome, stdout: stdout.replace(/cache-\w+/g, 'cache') }
}

/** Runs every command: built on a Node, without one in this process. */
async function runAll(node?: string): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {}
  for (const args of COMMANDS) {
    const outcome = node
      ? await run(node, [PROGRAM, ...args])
      : withoutCacheName(await runProgram(args, { cwd: folder, env: environment() }))
    outcomes[args.join(' ')] = outcome
  }
  return outcomes
}

describe.each(VERSIONS)('on Node $node', ({ node, hasZstd, canRequire }) => {
  const pathOr = (skip: (reason: string) => never): string => {
    const { path, reason } = found.get(node) as FoundNode
    return path ?? skip(reason)
  }

  test('zstd and require are there or not, as is meant to be tried', async ({ skip }) => {
    const { stdout } = await run(pathOr(skip), ['-p', '[!!process.versions.zstd, !!process.features.require_module]'])
    expect(stdout.trim()).toBe(`[ ${hasZstd}, ${canRequire} ]`)
  })

  test('every command prints what it prints on this Node', async ({ skip }) => {
    const outcomes = await runAll(pathOr(skip))
    expect(outcomes).toMatchObject({
      '--version': { status: 0, stdout: `dsh-ref ${version} (reads session formats 0, 1, 2, 3 and 4)\n`, stderr: '' },
      'uri encode abc': { status: 0, stdout: 'dsh-session:ImFiYyI\n', stderr: '' },
      'prepare --ref no-such-session Go on.': { status: 4, stdout: '' },
    })
    // Without a Node that compresses there is no such log.
    const status = (await newerNode()) ? 0 : 4
    expect(outcomes['prepare --ref many-frames Go on.']).toMatchObject({ status })
    expect(outcomes).toEqual(expected)
  })

  test.skipIf(!isInstalled('tmux'))('pick lets one choose (skipped without tmux)', async ({ skip }) => {
    const path = pathOr(skip)
    const out = join(folder, `picked-${node}`)
    const pick = `'${path}' '${PROGRAM}' pick login --format id`
    const terminal = await openTerminal(`${pick} > '${out}.part'; mv '${out}.part' '${out}'; sleep 60`, environment())
    try {
      await terminal.waitFor('1 session, 0 of 3 marked')
      await terminal.press('Enter')
      await expect.poll(() => existsSync(out), { timeout: 30_000 }).toBe(true)
      expect(readFileSync(out, 'utf8')).toBe('login-fix\n')
    } finally {
      await terminal.close()
    }
  })

  test('the library gives what it gives on this Node', async ({ skip }) => {
    const path = pathOr(skip)
    const file = join(folder, 'library.mjs')
    writeFileSync(
      file,
      `import { encodeSessionUri, listCandidates, prepare } from 'dsh-ref'
      const roots = [${JSON.stringify(home)}]
      const references = [{ sessionId: 'login-fix' }, { sessionId: 'checkout-tests' }]
      console.log(encodeSessionUri('abc'))
      console.log(JSON.stringify(await listCandidates({ roots, depth: 'titles' })))
      console.log(JSON.stringify(await prepare({ roots, message: 'Go on.', references })))`,
    )
    const outcome = await run(path, [file])
    expect(outcome.stdout).toMatch(/^dsh-session:ImFiYyI\n/)
    expect(outcome).toMatchObject({ status: 0, stderr: '' })
    expect(outcome).toEqual(await run(process.execPath, [file]))
  })

  test(`a CommonJS module ${canRequire ? 'requires' : 'imports'} the library`, async ({ skip }) => {
    const path = pathOr(skip)
    const file = join(folder, `common-${node}.cjs`)
    const use = `({ encodeSessionUri }) => console.log(encodeSessionUri('abc'))`
    writeFileSync(file, canRequire ? `(${use})(require('dsh-ref'))` : `import('dsh-ref').then(${use})`)
    expect(await run(path, [file])).toEqual({ status: 0, stdout: 'dsh-session:ImFiYyI\n', stderr: '' })
  })
})
