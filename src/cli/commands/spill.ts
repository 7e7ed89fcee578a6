// The words of `dsh-ref spill` and its subcommands; what it does is ../spill.ts.

import { options, REDACT, SPILL_DIR, TABLE_OR_JSON } from './common.ts'
import { ROOTS, SPILL_PLACES } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref spill` as data. */
export const spill: CommandSpec = {
  name: 'spill',
  summary: 'Look after the transcripts that prepare saved.',
  examples: ['dsh-ref spill list --spill-dir auto', 'dsh-ref spill prune --older-than 7d --dry-run'],
  statuses: [2, 4],
  environment: [...ROOTS, ...SPILL_PLACES, 'DSH_REF_REDACT'],
  commands: [
    {
      name: 'list',
      summary: 'List saved transcripts, oldest first.',
      examples: ['dsh-ref spill list --format json'],
      groups: [options(TABLE_OR_JSON, SPILL_DIR, ...REDACT)],
      statuses: [2, 4],
      environment: [...SPILL_PLACES, 'DSH_REF_REDACT'],
      load: async () => (await import('../spill.ts')).list,
    },
    {
      name: 'prune',
      summary: 'Remove old transcripts.',
      examples: ['dsh-ref spill prune --older-than 7d'],
      notes: [
        'Only files that dsh-ref itself named are removed. Their paths are printed. A directory in a sessions root is refused.',
      ],
      groups: [
        options(
          { flags: '--older-than <age>', summary: 'remove what was saved longer ago: 12h, 7d, 4w (needed)' },
          { flags: '-n, --dry-run', summary: 'print what would be removed, and remove nothing' },
          TABLE_OR_JSON,
          SPILL_DIR,
        ),
      ],
      statuses: [2, 4],
      environment: [...ROOTS, ...SPILL_PLACES],
      load: async () => (await import('../spill.ts')).prune,
    },
  ],
}
