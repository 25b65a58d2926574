export { CannotDecrypt, decrypt, type EncryptionKeys, encrypt, isCurrent } from './encryption.ts'
