// The words of `dsh-ref mcp`; what it does is ../mcp.ts.

import { options, READING, REDACT, TARGET } from './common.ts'
import { CACHE_PLACES, ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref mcp` as data. */
export const mcp: CommandSpec = {
  name: 'mcp',
  summary: 'Serve the sessions to agents, over the Model Context Protocol on standard input and output.',
  examples: ['claude mcp add dsh-ref -- dsh-ref mcp', 'codex mcp add dsh-ref -- dsh-ref mcp'],
  notes: [
    'Tools: list_sessions, search_sessions, prepare_reference, read_transcript. Resources: sessions by their dsh-session: URI. Everything is read-only. An agent starts the server and ends it; "dsh-ref help agents" tells how to connect Claude Code, Codex and DSH.',
  ],
  groups: [
    options(
      TARGET,
      {
        flags: '--cwd <dir>',
        summary: 'only sessions that worked in this directory ("." for the current one)',
        takes: 'directory',
      },
      { flags: '--no-cache', summary: 'neither use nor keep what was read before' },
      ...REDACT,
    ),
    READING,
  ],
  statuses: [2, 3, 4],
  environment: [...ROOTS, 'DSH_REF_REDACT', 'DSH_SESSION_JSONL', ...CACHE_PLACES],
  load: async () => (await import('../mcp.ts')).mcp,
}
