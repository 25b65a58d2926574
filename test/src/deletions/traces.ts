import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, sql } from '@sluice/database'
import { Redis } from 'ioredis'

/**
 * The columns that can hold text which clients send about users, and what removes the text when a deletion completes.
 * Every other column with text or bytes is in `otherColumns`: a new column must be entered in one of the lists.
 */
export const columnsWithUsers: Readonly<Record<string, string>> = {
  'bucket_uploads.file_name': 'removeUploadsBeforeDeletion',
  'deletion_request_users.user_id': 'deleteUsers',
  'import_error_chunks.content': 'dropErrorRows, and removeFilesOfApp for imports that have ended',
  'imports.file_name': 'removeFilesOfApp and forgetFileTraces',
  'imports.warnings': 'removeFilesOfApp and forgetFileTraces',
  'mails.html': 'forgetMailContents',
  'mails.subject': 'forgetMailContents',
  'mails.text': 'forgetMailContents',
  'profiles.attributes': 'deleteUsers',
  'profiles.user_id': 'deleteUsers',
  'users.user_id': 'deleteUsers',
  'webhook_deliveries.body': 'forgetFileNames',
}

/** Columns without text about users: names of columns and keys, counts, hashes, our own words, people of the app. */
export const otherColumns = [
  /^kysely_/,
  /^(?:access_keys|api_tokens|apps|audit_log|column_mappings|invitations|invitation_mails|members|operators)\./,
  /^(?:provider_accounts|rate_limits|sessions|sign_in_links|signing_keys|webhook_endpoints|workers|disk_reserve)\./,
  /^(?:bucket_upload_parts|exports|profile_keys)\./,
  /^idempotency_keys\.(?:body|function|key|request_hash)$/,
  /^imports\.(?:columns|clear_marker|error|error_counts|previewed_keys|profile_types|spelling_counts|types)$/,
  /_hash$|\.(?:state|source|type|event|last_error|recipient|new_keys|content_type|checksum|etag|object_key)$/,
  /\.(?:error_file_key|error_file_secret|salt|storage_upload_id|token_last_four)$/,
]

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
