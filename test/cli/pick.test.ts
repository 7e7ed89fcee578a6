// `dsh-ref pick` in a real terminal: keys typed, the screen read back, the choice in a file.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { renderPick } from '../../src/render/pick.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { isInstalled, openTerminal, type Terminal } from '../support/terminal.ts'

const home = makeHome()
const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-pick-'))
const out = join(directory, 'out')
const done = join(directory, 'done')

beforeAll(() => {
  home.write(
    chatLog('login-fix', [{ title: 'Fix the login redirect' }, { user: 'Why?' }, { assistant: 'A stale cookie.' }]),
  )
  home.write(chatLog('checkout', [{ title: 'Checkout tests' }, { user: 'Write \u001b[31mtests' }], '/work/shop'))
  home.write(chatLog('docs', [{ title: 'Write the docs' }, { user: 'Docs, please' }], '/work/shop'))
  home.write(chatLog('parser', [{ title: 'Parser work' }, { user: 'x' }]))
})
beforeEach(() => {
  for (const file of [out, done]) rmSync(file, { force: true })
})
afterAll(() => {
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const start = (args: string) =>
  openTerminal(
    `'${process.execPath}' '${PROGRAM}' pick ${args} > '${out}'; echo $? > '${done}.part'; mv '${done}.part' '${done}'; sleep 60`,
    { DSH_REF_ROOT: home.root, DSH_REF_CACHE_DIR: join(directory, 'cache'), DSH_SESSION_JSONL: '', HOME: directory },
  )

/** Waits for the end of the command; its status and what it printed. */
async function end(terminal: Terminal): Promise<{ status: number; stdout: string }> {
  for (let waited = 0; !existsSync(done) && waited < 300; waited++) await setTimeout(100)
  if (!existsSync(done)) throw new Error(`It did not end; the screen shows:\n${await terminal.screen()}`)
  return { status: Number(readFileSync(done, 'utf8')), stdout: readFileSync(out, 'utf8') }
}

describe.skipIf(!isInstalled('tmux'))('in a terminal (skipped without tmux: apt-get install tmux)', () => {
  test('searches as one types, shows the newest lines, and prints a mention', async () => {
    const terminal = await start('')
    try {
      await terminal.waitFor('4 sessions, 0 of 3 marked')
      await terminal.type('redir')
      await terminal.waitFor('1 session, ')
      const screen = await terminal.waitFor('assistant: A stale cookie.')
      expect(screen).toContain('> [ ] Fix the login redirect  login-fix  /work/app')
      expect(screen).not.toContain('Checkout')
      await terminal.press('Enter')
      expect(await end(terminal)).toEqual({
        status: 0,
        stdout: '@[Fix the login redirect](dsh-session:ImxvZ2luLWZpeCI)\n',
      })
    } finally {
      await terminal.close()
    }
  })

  test('marks several over several searches, three at most', async () => {
    const terminal = await start('--format id')
    try {
      await terminal.waitFor('4 sessions')
      for (const [index, key] of ['Tab', 'Tab', 'Tab', 'Tab'].entries()) {
        await terminal.press(key)
        await terminal.waitFor(`${index + 1} of 3 marked`)
        if (index < 3) await terminal.press('Down')
      }
      await terminal.press('Enter')
      await terminal.waitFor('At most 3 sessions fit in one message')
      await terminal.press('Tab')
      await terminal.waitFor('3 of 3 marked')
      await terminal.press('Enter')
      const { status, stdout } = await end(terminal)
      expect(status).toBe(0)
      expect(stdout.trim().split('\n')).toHaveLength(3)
    } finally {
      await terminal.close()
    }
  })

  test('hands the choice to prepare, and makes control characters visible', async () => {
    const terminal = await start('checkout --prepare "Go on." --format json')
    try {
      await terminal.waitFor('user: Write \\u001b[31mtests')
      await terminal.press('Enter')
      const { status, stdout } = await end(terminal)
      expect(status).toBe(0)
      const { content, additionalContext } = JSON.parse(stdout)
      expect(content).toEqual([{ type: 'text', text: 'Go on.' }])
      expect(additionalContext[0].source.references).toMatchObject([{ sessionId: 'checkout', label: 'Checkout tests' }])
    } finally {
      await terminal.close()
    }
  })

  test.each(['Escape', 'C-c'])('%s leaves with status 130 and nothing printed', async (key) => {
    const terminal = await start('')
    try {
      await terminal.waitFor('4 sessions')
      await terminal.press(key)
      expect(await end(terminal)).toEqual({ status: 130, stdout: '' })
      expect(await terminal.screen()).toContain('Cancelled; nothing was printed')
    } finally {
      await terminal.close()
    }
  })
})

test('refuses politely without a terminal', async () => {
  const { status, stdout, stderr } = await run(['pick'], { env: { DSH_REF_ROOT: home.root } })
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain('pick needs a terminal to choose in, and there is none; use "dsh-ref list" and --ref')
})

test('the screen never is wider than the terminal', () => {
  const rows = [{ sessionId: '书'.repeat(30), name: 'a'.repeat(100), isTitle: true, cwd: '/x'.repeat(100) }]
  const screen = renderPick({
    omitted: 0,
    typed: '',
    rows,
    cursor: 0,
    picked: new Set(),
    preview: [{ role: 'user', text: `\t${'b'.repeat(200)}\nc` }],
    error: '',
    columns: 50,
  })
  for (const line of screen.split('\n')) expect(line.length).toBeLessThan(50)
})
