import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { sampleFile } from './sample.ts'

/** The seed of the file in `sample/`; `node apps/demo/src/make-sample.ts` writes it anew. */
const seed = 20_260_101

await writeFile(fileURLToPath(new URL('../sample/customers.csv', import.meta.url)), sampleFile(seed))
