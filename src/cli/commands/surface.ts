// The words of `dsh-ref surface`; what it does is ../surface.ts.

import { options, READING, SECRETS, TABLE_OR_JSON } from './common.ts'
import { ROOTS } from './environment.ts'
import type { CommandSpec } from './spec.ts'

/** `dsh-ref surface` as data. */
export const surface: CommandSpec = {
  name: 'surface',
  args: '<session>',
  takes: ['session'],
  summary: 'Show the fold of one session: what the model sees now.',
  examples: [
    'dsh-ref surface login-fix',
    'dsh-ref surface login-fix --format json | jq .nodes',
    'zstd -dc session.v4.jsonl.zstd | dsh-ref surface -',
  ],
  groups: [
    options({ flags: '--at <seq>', summary: 'fold the log only through this event' }, TABLE_OR_JSON),
    SECRETS,
    READING,
  ],
  statuses: [2, 3, 4, 6],
  environment: [...ROOTS, 'DSH_REF_REDACT'],
  load: async () => (await import('../surface.ts')).surface,
}
