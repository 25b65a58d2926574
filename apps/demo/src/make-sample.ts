import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { sampleFile } from './sample.ts'

/** The seed of the file in `sample/`. Run `node apps/demo/src/make-sample.ts` to write the file again. */
const seed = 20_260_101

await writeFile(fileURLToPath(new URL('../sample/customers.csv', import.meta.url)), sampleFile(seed))
