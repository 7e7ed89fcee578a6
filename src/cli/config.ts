// `dsh-ref config`: what holds, and why.

import { existsSync } from 'node:fs'
import { DEFAULT_LIMITS } from '../decode/limits.ts'
import { cacheDirectory } from '../list/title-index.ts'
import { DEFAULT_CONTEXT_FRACTION } from '../prepare/budget.ts'
import { MAX_REFERENCES } from '../prepare/references.ts'
import { configPath, readConfig } from './config-file.ts'
import type { Config } from './config-schema.ts'
import { oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { redactsByEnvironment } from './redact-option.ts'
import { resolveRoots } from './roots.ts'

/** A setting as it holds. */
interface Effective {
  readonly value: unknown
  /** `--root`, a variable, the file, or `default`. */
  readonly from: string
}

/** `config`: prints what holds and where it comes from. */
export const config: CommandBody = async (context, _, options) => {
  const { format = 'table' } = optionsOf(options, { format: oneOf(['table', 'json']) })
  const file = configPath(context.env, context.home)
  const set = await readConfig(context.shellEnv, () => context.home)
  const settings = effective(context, set)
  if (format === 'json') {
    await context.print.json({ schemaVersion: 1, file, hasFile: existsSync(file), settings })
    return
  }
  const { displayWidth, padToWidth, visible } = await import('../render/text.ts')
  const rows = Object.entries(settings).map(([key, { value, from }]) => [key, shown(value), from] as const)
  const lines = [['SETTING', 'VALUE', 'FROM'] as const, ...rows].map((row) => row.map(visible))
  const widths = [0, 1].map((column) => Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))))
  const table = lines.map(
    ([key = '', value = '', from = '']) =>
      `${padToWidth(key, widths[0] as number)}  ${padToWidth(value, widths[1] as number)}  ${from}\n`,
  )
  await context.print.out(`${table.join('')}\nFile: ${visible(file)}${existsSync(file) ? '' : ' (not there)'}\n`)
}

function effective(context: CommandContext, set: Config): Record<string, Effective> {
  const { from, paths } = resolveRoots(context)
  const fromFile = (key: keyof Config, otherwise: unknown): Effective =>
    set[key] === undefined ? { value: otherwise, from: 'default' } : { value: set[key], from: 'file' }
  const directory = (key: 'spillDir' | 'cacheDir', variable: string, otherwise: string | null): Effective =>
    context.shellEnv[variable] ? { value: context.shellEnv[variable], from: variable } : fromFile(key, otherwise)
  return {
    roots: { value: paths, from },
    spillDir: directory('spillDir', 'DSH_REF_SPILL_DIR', null),
    cacheDir: directory('cacheDir', 'DSH_REF_CACHE_DIR', cacheDirectory(context.env, context.home)),
    redact: context.shellEnv.DSH_REF_REDACT
      ? { value: redactsByEnvironment(context.shellEnv), from: 'DSH_REF_REDACT' }
      : fromFile('redact', false),
    maxReferences: fromFile('maxReferences', MAX_REFERENCES),
    maxReferenceBytes: fromFile('maxReferenceBytes', null),
    contextWindow: fromFile('contextWindow', null),
    referenceContextFraction: fromFile('referenceContextFraction', DEFAULT_CONTEXT_FRACTION),
    maxRowBytes: fromFile('maxRowBytes', DEFAULT_LIMITS.maxRowBytes),
    maxLogBytes: fromFile('maxLogBytes', DEFAULT_LIMITS.maxLogBytes),
    maxWindowBytes: fromFile('maxWindowBytes', DEFAULT_LIMITS.maxWindowBytes),
  }
}

function shown(value: unknown): string {
  if (value === null) return '-'
  return Array.isArray(value) ? value.join(', ') : String(value)
}
