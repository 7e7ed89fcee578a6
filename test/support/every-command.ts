// One run of every command there is, so that what holds of all of them can be shown of all of them.

import type { CommandSpec } from '../../src/cli/commands/spec.ts'
import { PROGRAM } from '../../src/cli/commands.ts'

/** What the runs work on. */
export interface Places {
  readonly root: string
  /** A session of that root, and a log beside the sessions that is damaged. */
  readonly session: string
  readonly damagedLog: string
  /** An artifact, and a directory for more of them, both outside the root. */
  readonly artifact: string
  readonly spillDir: string
}

/** One run. */
export interface CommandRun {
  readonly args: readonly string[]
  /** Standard input; empty without. */
  readonly input?: string
  /** Set for a command that must refuse here, because it needs a terminal. */
  readonly isRefused?: true
}

/** What an agent says first over the Model Context Protocol; the server answers it. */
const GREETING = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})}\n`

/** Names of all commands that do something, as they are typed. */
export const COMMAND_NAMES: readonly string[] = namesIn(PROGRAM.commands ?? [], '')

function namesIn(specs: readonly CommandSpec[], parent: string): string[] {
  return specs.flatMap(({ name, load, commands = [] }) => [
    ...(load === undefined && commands.length > 0 ? [] : [`${parent}${name}`]),
    ...namesIn(commands, `${parent}${name} `),
  ])
}

/** Runs by the name of the command; all that are not refused print something on standard output. */
export function everyCommand(places: Places): Readonly<Record<string, readonly CommandRun[]>> {
  const { root, session, damagedLog, artifact, spillDir } = places
  const on = (...args: string[]): CommandRun => ({ args: [...args, '--root', root] })
  const formats = (command: string, ...names: string[]) =>
    names.map((name) => on(...command.split(' '), session, '--format', name))
  return {
    list: ['table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'].map((format) =>
      on('list', '--all', '--long', '--format', format),
    ),
    search: [
      ...['table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path'].map((format) =>
        on('search', 'e', '--format', format),
      ),
      on('search', '-e', '.', '--tools', '-c'),
    ],
    prepare: [
      ...['text', 'snapshot', 'json', 'jsonl', 'chat'].map((format) =>
        on('prepare', 'go on', '--ref', session, '--target', 'receiver', '--format', format),
      ),
      on('prepare', 'go on', '--ref', session, '--max-reference-bytes', '1000', '--spill-dir', spillDir),
      on('prepare', 'go on', '--ref', `path:${damagedLog}`, '--salvage'),
    ],
    surface: [...formats('surface', 'table', 'json'), on('surface', `path:${damagedLog}`, '--salvage')],
    transcript: formats('transcript --include-shadowed', 'spill', 'markdown', 'text', 'json'),
    'transcript decode': [on('transcript', 'decode', artifact)],
    'transcript grep': [on('transcript', 'grep', 'a', session, artifact)],
    check: [on('check', '--all'), on('check', '--all', '--format', 'json'), on('check', `path:${damagedLog}`)],
    'spill list': [on('spill', 'list', '--spill-dir', spillDir, '--format', 'json')],
    'spill prune': [on('spill', 'prune', '--older-than', '0s', '--spill-dir', spillDir)],
    'uri encode': [on('uri', 'encode', 'x')],
    'uri decode': [on('uri', 'decode', 'dsh-session:Ingi')],
    'uri mention': [on('uri', 'mention', 'x')],
    'uri parse': [on('uri', 'parse', 'see dsh-session:Ingi')],
    pick: [{ ...on('pick'), isRefused: true }],
    mcp: [{ ...on('mcp'), input: GREETING }],
    config: [on('config')],
    completion: [on('completion', 'bash')],
    help: [on('help', 'prepare')],
  }
}
