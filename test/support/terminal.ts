// A real terminal for tests: a tmux server of its own, with keys typed into it and the screen read back.

import { execFileSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'

/** How long a screen may take to show what is waited for; a busy machine starts Node slowly. */
const PATIENCE_MILLISECONDS = 30_000
const POLL_MILLISECONDS = 50

/** A program in a terminal. */
export interface Terminal {
  /** Types text as it is. */
  type(text: string): Promise<void>
  /** Presses keys by tmux's names: `Tab`, `Enter`, `C-c`. */
  press(...keys: string[]): Promise<void>
  /** Waits until the screen holds a text, or matches; returns the screen. */
  waitFor(wanted: string | RegExp): Promise<string>
  screen(): Promise<string>
  close(): Promise<void>
}

/** Whether a program can be started. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

let terminals = 0

/** Starts a command line of `sh` in a terminal of 160 columns and 40 lines. */
export async function openTerminal(command: string, env: Readonly<Record<string, string>>): Promise<Terminal> {
  const socket = `dsh-ref-${process.pid}-${terminals++}`
  const tmux = (...args: string[]) => execa('tmux', ['-L', socket, ...args])
  // As the environment of tmux itself, which takes PATH from nowhere else.
  const start = ['-L', socket, '-f', '/dev/null', 'new-session', '-d', '-s', 'test', '-x', '160', '-y', '40', command]
  await execa('tmux', start, { env })
  const screen = async () => (await tmux('capture-pane', '-p', '-t', 'test')).stdout
  return {
    screen,
    async type(text) {
      await tmux('send-keys', '-t', 'test', '-l', text)
    },
    async press(...keys) {
      await tmux('send-keys', '-t', 'test', ...keys)
    },
    async waitFor(wanted) {
      const end = Date.now() + PATIENCE_MILLISECONDS
      for (;;) {
        const shown = await screen()
        if (typeof wanted === 'string' ? shown.includes(wanted) : wanted.test(shown)) return shown
        if (Date.now() > end) throw new Error(`The terminal does not show ${wanted}; it shows:\n${shown}`)
        await setTimeout(POLL_MILLISECONDS)
      }
    },
    async close() {
      await tmux('kill-server').catch(() => undefined) // ended by itself
    },
  }
}
