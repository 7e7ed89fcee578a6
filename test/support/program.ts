// Runs the built program as a person would, over roots of their own.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** The program file. */
export const PROGRAM = fileURLToPath(new URL('../../bin/dsh-ref.js', import.meta.url))

const BUNDLE = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url))

/** How a run differs from a plain one. */
export interface RunOptions {
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** What a run gave. */
export interface Outcome {
  readonly status: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs `dsh-ref` with these arguments; standard input is empty unless given. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  if (!existsSync(BUNDLE)) throw new Error('The program is not built; run "npm run build" before the tests')
  const { exitCode, stdout, stderr } = await execa(process.execPath, [PROGRAM, ...args], {
    reject: false,
    stripFinalNewline: false,
    input: options.input ?? '',
    env: { DSH_REF_ROOT: '', DSH_HOME: '', DSH_SESSION_JSONL: '', ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  return { status: exitCode, stdout, stderr }
}
