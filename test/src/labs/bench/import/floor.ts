import { type Contender, ownCpu } from './contender.ts'
import { copyFile } from './copy.ts'
import { type BenchPostgres, connectTo } from './postgres.ts'

/** The floor: copies the file's bytes into a table of texts. No import on this Postgres can be faster. */
export function floor(postgres: BenchPostgres, template: string): Contender {
  const database = 'bench_floor'
  return {
    name: 'COPY',
    database,
    template,
    profiles: undefined,
    async prepare(file) {
      const client = await connectTo(postgres.urlOf(database))
      return {
        async run() {
          await copyFile(client, file, 'cells', () => 'text')
          return undefined
        },
        cpu: ownCpu,
        close: () => client.end(),
      }
    },
  }
}
