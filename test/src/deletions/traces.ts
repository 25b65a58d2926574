import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, sql } from '@sluice/database'
import { Redis } from 'ioredis'

/** Returns the database's tables, queue included, in which a text occurs as text or as bytes. */
export async function tablesWith(db: Database, text: string): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1
  `.execute(db)
  const bytes = Buffer.from(text).toString('hex')
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql`
      select from ${sql.raw(name)} t where strpos(t::text, ${text}) > 0 or strpos(t::text, ${bytes}) > 0 limit 1
    `.execute(db)
    if (rows.length > 0) found.push(name)
  }
  return found
}

/** Returns the files below a folder whose name or content holds a text. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const found: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    const content = (await stat(path)).isFile() ? await readFile(path) : ''
    if (name.includes(text) || content.includes(text)) found.push(name)
  }
  return found
}

/** Returns the keys of a Redis database whose name or value holds a text. */
export async function redisKeysWith(redisUrl: string, text: string): Promise<string[]> {
  const redis = new Redis(redisUrl)
  try {
    const found: string[] = []
    for (const key of await redis.keys('*')) {
      const value = await readValue(redis, key)
      if (key.includes(text) || JSON.stringify(value).includes(text)) found.push(key)
    }
    return found.toSorted()
  } finally {
    redis.disconnect()
  }
}

async function readValue(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key)
  switch (type) {
    case 'none': // the key has expired since
      return null
    case 'string':
      return await redis.get(key)
    case 'hash':
      return await redis.hgetall(key)
    case 'list':
      return await redis.lrange(key, 0, -1)
    case 'set':
      return await redis.smembers(key)
    case 'zset':
      return await redis.zrange(key, '0', '-1')
    case 'stream':
      return await redis.xrange(key, '-', '+')
    default:
      throw new Error(`the Redis key ${key} is of the unknown type ${type}`)
  }
}

/** Empties the Redis database of a test file; each file uses a different `number`. Returns its URL. */
export async function emptyRedis(redisUrl: string, number: number): Promise<string> {
  const redis = new Redis(`${redisUrl}/${number}`)
  await redis.flushdb()
  redis.disconnect()
  return `${redisUrl}/${number}`
}
