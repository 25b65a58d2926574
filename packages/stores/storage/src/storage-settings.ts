import type { Settings } from '@sluice/config'

/** The names of the settings that a connection to storage needs. */
export const storageSettings = [
  'S3_ENDPOINT',
  'S3_PUBLIC_ENDPOINT',
  'S3_REGION',
  'S3_BUCKET',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'S3_PATH_STYLE',
] as const

type Name = (typeof storageSettings)[number]

/** The settings of a connection to storage. `S3_PATH_STYLE` may be left out; its default then applies. */
export type StorageSettings = Settings<Exclude<Name, 'S3_PATH_STYLE'>> & Partial<Settings<'S3_PATH_STYLE'>>

/**
 * A request that began before files were removed may still write a file for this long afterwards, hours. An upload
 * address is valid for 5 minutes, and an upload takes a day at most. Requests of the service's own processes end
 * sooner.
 */
export const lastWriteHours = 25

/** {@link lastWriteHours} in ms. */
export const lastWriteMs = lastWriteHours * 3_600_000
