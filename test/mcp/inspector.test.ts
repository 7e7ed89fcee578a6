// The server as the protocol's public inspector sees it, in its command-line mode. The inspector needs a newer Node than the
// program, and is installed for this test alone; where it cannot be, the test is skipped and says why.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { IS_EXHAUSTIVE } from '../support/exhaustive.ts'
import { newerNode, whyNoNewerNode } from '../support/newer-node.ts'
import { installedFolder } from '../support/npm-package.ts'
import { PROGRAM, run } from '../support/program.ts'

const VERSION = '2.12.0'
const LAUNCHER = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
const FIXTURES = fileURLToPath(new URL('../../fixtures/home/sessions', import.meta.url))

test.runIf(IS_EXHAUSTIVE)(
  'the inspector lists the tools, calls one and reads a resource',
  async ({ skip }) => {
    const node = await newerNode()
    if (node === undefined) return skip(await whyNoNewerNode())
    const { folder, reason } = await installedFolder({
      name: '@modelcontextprotocol/inspector',
      version: VERSION,
      hasScripts: false,
      isReady: async (path) => existsSync(join(path, LAUNCHER)),
    })
    if (folder === undefined) return skip(reason)
    const inspect = async (...args: string[]) => {
      const server = [process.execPath, PROGRAM, 'mcp', '--root', FIXTURES, '--no-cache']
      const { stdout } = await execa(node, [join(folder, LAUNCHER), '--cli', ...server, ...args])
      return JSON.parse(stdout)
    }
    const { tools } = await inspect('--method', 'tools/list')
    expect(tools.map(({ name }: { name: string }) => name)).toContain('search_sessions')
    const snapshot = (await run(['prepare', '--ref', 'login-fix', '--format', 'snapshot', '--root', FIXTURES])).stdout
    const call = ['--method', 'tools/call', '--tool-name', 'prepare_reference', '--tool-arg', 'sessions=["login-fix"]']
    expect(`${(await inspect(...call)).content[0].text}\n`).toBe(snapshot)
    const { contents } = await inspect('--method', 'resources/read', '--uri', 'dsh-session:ImxvZ2luLWZpeCI')
    expect(`${contents[0].text}\n`).toBe(snapshot)
  },
  300_000,
)
