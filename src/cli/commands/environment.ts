// The variables of the environment: what each does, and the ones that go together.

/** Variables of the environment and what they do. */
export const ENVIRONMENT = {
  DSH_REF_ROOT: 'sessions roots when no --root is given, separated like PATH',
  DSH_HOME: 'home of DSH; its "sessions" is the root when DSH_REF_ROOT is not set (default: ~/.dsh)',
  DSH_SESSION_JSONL: 'log of the session that receives when no --target is given; DSH sets it for its agents',
  DSH_REF_SPILL_DIR: 'directory for full transcripts when no --spill-dir is given, or "auto"',
  DSH_REF_CACHE_DIR: 'directory of the title index and of texts (default: dsh-ref in XDG_CACHE_HOME or ~/.cache)',
  DSH_REF_REDACT: 'mask secrets as --redact does: 1 or true; 0, false or empty for not',
  XDG_CONFIG_HOME: 'its dsh-ref.json is the configuration file (default: ~/.config)',
  XDG_STATE_HOME: 'where "--spill-dir auto" keeps transcripts (default: ~/.local/state)',
  XDG_CACHE_HOME: 'where the title index and texts are kept (default: ~/.cache)',
  NO_COLOR: 'no colour when set and not empty',
  FORCE_COLOR: 'colour even in a pipe when set; 0 or false for none',
  TERM: '"dumb" means no colour',
} as const

/** One of them. */
export type Variable = keyof typeof ENVIRONMENT

/** Where sessions are. */
export const ROOTS = ['DSH_REF_ROOT', 'DSH_HOME'] as const

/** Where full transcripts are. */
export const SPILL_PLACES = ['DSH_REF_SPILL_DIR', 'XDG_STATE_HOME'] as const

/** Where the title index and texts are kept. */
export const CACHE_PLACES = ['DSH_REF_CACHE_DIR', 'XDG_CACHE_HOME'] as const satisfies readonly Variable[]

/** Whether there is colour. */
export const COLOUR = ['NO_COLOR', 'FORCE_COLOR', 'TERM'] as const
