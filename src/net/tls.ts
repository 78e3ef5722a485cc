/** Node's TLS, loaded with the first use: to name it in an import reads the list of all public authorities as well. */
export const tls = (): typeof import('node:tls') => process.getBuiltinModule('node:tls')
