// `dsh-ref __assets`: what the build makes of the program's own words and shapes: the man page and the JSON Schemas.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { schemaFiles } from '../schemas.ts'
import { VERSION } from './commands.ts'
import { ConfigSchema } from './config-schema.ts'
import { renderMan } from './man.ts'
import type { CommandBody } from './print.ts'

/** Writes them below a directory. */
export const assets: CommandBody = async (_context, [directory = 'dist']) => {
  const config = { title: 'dsh-ref.json', ...z.toJSONSchema(ConfigSchema) }
  const files = { ...schemaFiles(), 'config.schema.json': `${JSON.stringify(config, null, 2)}\n` }
  for (const folder of ['man', 'schemas']) mkdirSync(join(directory, folder), { recursive: true })
  writeFileSync(join(directory, 'man', 'dsh-ref.1'), renderMan(VERSION))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, 'schemas', name), text)
}
