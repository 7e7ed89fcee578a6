// Runs the program as a person would, over roots of their own: in this process, from the sources, or built and in a process
// of its own where that process is what is tested (signals, pipes, terminals, memory, the build itself).

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import type { Environment, Shell, ShellOutput } from '../../src/cli/shell.ts'

/** The program file. */
export const PROGRAM = fileURLToPath(new URL('../../bin/dsh-ref.js', import.meta.url))

const BUNDLE = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url))

/** As many bytes as a pipe gives at once. */
const PIPE_BYTES = 65536

/** How a run differs from a plain one. */
export interface RunOptions {
  readonly input?: string | Uint8Array
  /** What is set over the environment of the tests. */
  readonly env?: Environment
  readonly cwd?: string
}

/** How a run in this process differs from a plain one. */
export interface InProcessOptions extends RunOptions {
  /** Standard input, output or error that are terminals. */
  readonly terminals?: readonly ('stdin' | 'stdout' | 'stderr')[]
  /** Width of the terminals; 80 unless given. */
  readonly columns?: number
}

/** What a run gave. */
export interface Outcome {
  readonly status: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** What a run gave, to the byte. */
export interface OutcomeBytes {
  readonly status: number | undefined
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

/** Runs `dsh-ref` with these arguments in this process; standard input is empty unless given. */
export async function run(args: readonly string[], options: InProcessOptions = {}): Promise<Outcome> {
  return textOf(await runBytes(args, options))
}

/** `run`, with outputs that are not text yet. */
export async function runBytes(args: readonly string[], options: InProcessOptions = {}): Promise<OutcomeBytes> {
  const { runProgram } = await import('../../src/cli/main.ts')
  const { input = '', terminals = [], columns = 80 } = options
  const env = environmentOf(options)
  const stdout: Uint8Array[] = []
  const stderr: Uint8Array[] = []
  const outputTo = (pieces: Uint8Array[], isTerminal: boolean): ShellOutput => ({
    isTerminal,
    columns: isTerminal ? columns : undefined,
    async write(bytes) {
      // The program may write over its buffer once the bytes have left.
      pieces.push(Uint8Array.from(bytes))
    },
  })
  const shell: Shell = {
    env,
    stdin: {
      isTerminal: terminals.includes('stdin'),
      async *chunks() {
        const bytes = Buffer.from(input)
        for (let at = 0; at < bytes.length; at += PIPE_BYTES) yield bytes.subarray(at, at + PIPE_BYTES)
      },
    },
    stdout: outputTo(stdout, terminals.includes('stdout')),
    stderr: outputTo(stderr, terminals.includes('stderr')),
    cwd: () => options.cwd ?? process.cwd(),
    home: () => env.HOME || homedir(),
    terminal: () => undefined,
  }
  const status = await runProgram(args, shell)
  return { status, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) }
}

/** Runs the built `dsh-ref` in a process of its own; standard input is empty unless given. */
export async function runProcess(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  if (!existsSync(BUNDLE)) throw new Error('The program is not built; run "npm run build" before the tests')
  const { exitCode, stdout, stderr } = await execa(process.execPath, [PROGRAM, ...args], {
    reject: false,
    encoding: 'buffer',
    stripFinalNewline: false,
    input: options.input ?? '',
    extendEnv: false,
    env: environmentOf(options),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  return textOf({ status: exitCode, stdout, stderr })
}

function environmentOf({ env }: RunOptions): Environment {
  return { ...process.env, DSH_REF_ROOT: '', DSH_HOME: '', DSH_SESSION_JSONL: '', ...env }
}

function textOf({ status, stdout, stderr }: OutcomeBytes): Outcome {
  return { status, stdout: Buffer.from(stdout).toString(), stderr: Buffer.from(stderr).toString() }
}
