// Exports what commands need to find a running stack, without the code that starts a stack.
export { embeddedStorageAccess } from './stack/embedded-storage.ts'
export { encryptionKeysOf } from './stack/encryption-key.ts'
export { readStackInfo } from './stack/info.ts'
export { defaultHome } from './stack/settings.ts'
