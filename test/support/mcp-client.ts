// A client of the Model Context Protocol, the SDK's own, with `dsh-ref mcp` as its server in a process of its own.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { PROGRAM } from './program.ts'

/** A client that is connected, and what the server wrote to stderr. */
export interface ConnectedClient {
  readonly client: Client
  readonly pid: number
  stderr(): string
}

/** Starts a server with these arguments and connects to it; closing the client ends it. */
export async function connect(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ConnectedClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...args],
    stderr: 'pipe',
    env: { XDG_CONFIG_HOME: '/nonexistent', ...env },
  })
  let stderr = ''
  transport.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  return { client, pid: transport.pid ?? 0, stderr: () => stderr }
}

/** Calls a tool; the texts of its answer, and whether it refused. */
export async function call(
  { client }: Pick<ConnectedClient, 'client'>,
  name: string,
  args: Record<string, unknown> = {},
): Promise<{ readonly text: string; readonly isError: boolean; readonly result: CallToolResult }> {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult
  const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
  return { text, isError: result.isError === true, result }
}

/** The JSON between the tags of a frame. */
export function framedJson(text: string): unknown {
  const [, json = ''] = /\n<[a-z-]+>\n(.*)\n<\/[a-z-]+>/.exec(text) ?? []
  return JSON.parse(json)
}
