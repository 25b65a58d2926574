export { rateLimit } from './formats.ts'
export { isSecret, readSecretFiles, readSettings, SettingsError } from './read.ts'
export { queueNames, type SettingName, type Settings, settings } from './settings.ts'
export { type RedisStore, type SharedStore, sharedStore, sharedStoreSettings } from './shared-store.ts'
