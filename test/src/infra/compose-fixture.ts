import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** The Compose file as it is. */
export const composeFile: unknown = parse(
  readFileSync(new URL('../../../infra/compose.yaml', import.meta.url), 'utf8'),
  { merge: true },
)

export const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({
        image: z.string().optional(),
        ports: z.array(z.string()).optional(),
        environment: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .parse(composeFile)
