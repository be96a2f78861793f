package siding

import "strings"

// The words that a normalised text depends on, in lower case.
var (
	// strong are words before a code, whatever it looks like; weak before a number that looks like one.
	strong = set("status", "statuscode", "status_code", "http_status", "code", "errorcode", "error_code", "errcode", "exitcode", "exit_code",
		"errno", "sqlstate", "http", "https", "exit", "signal", "winerror", "hresult", "rc", "fehlercode", "código", "codigo", "код", "кодом", "кода",
		"состояния", "رمز", "كود", "الرمز", "الحالة", "estado", "statut", "d'état", "codice", "stato")
	weak = set("error", "err", "fehler", "erreur", "ошибка", "ошибку", "خطأ", "エラー", "错误", "錯誤", "errore")
	// otherCodes stand before codes that are values.
	otherCodes = set("postal", "zip", "promo", "country", "coupon", "discount", "qr", "area", "verification", "product", "language", "currency")
	// codeSuffixes end words before a code in scripts without spaces.
	codeSuffixes = []string{"コード", "代码", "代碼", "状态码", "狀態碼", "ステータス", "코드"}
	codePrefixes = set("ORA", "TNS", "PLS", "SQL", "TS", "CS", "MSB", "NU", "NETSDK", "AADSTS", "PGRST", "DPY", "DPI", "ERR", "RMAN", "LNK", "HY",
		"SQLSTATE", "MY", "BC", "KB", "CVE", "WinError", "Errno", "IMP", "EXP", "CRS", "PRVF", "SP", "DB")
	// answering are words before the status of an answer.
	answering = set("returned", "got", "received", "responded", "replied", "answered", "gave", "response", "answer", "reply", "with", "upstream",
		"回答", "応答")
	// reasons begin the words that HTTP has for its statuses.
	reasons = set("bad", "unauthorized", "payment", "forbidden", "not", "method", "proxy", "request", "conflict", "gone", "length", "precondition",
		"payload", "content", "uri", "unsupported", "range", "expectation", "unprocessable", "locked", "too", "upgrade", "internal", "service",
		"gateway", "http", "overloaded", "from", "for", "on", "at", "when", "while", "and", "after")

	// naming are words before or behind the name of something that is part of the fault.
	naming = set("field", "fields", "property", "properties", "key", "keys", "column", "columns", "parameter", "parameters", "param", "params",
		"argument", "arguments", "attribute", "attributes", "member", "option", "header", "variable", "constraint", "relation", "table", "view",
		"module", "package", "function", "method", "class", "type", "pointer", "keyerror", "keyword", "loc", "location",
		"feld", "spalte", "schlüssel", "eigenschaft", "tabelle", "attribut", "pflichtfeld", "parametern",
		"champ", "colonne", "clé", "propriété", "paramètre", "campo", "columna", "clave", "propiedad", "tabla", "parámetro",
		"поле", "поля", "столбец", "ключ", "таблица", "таблицы", "параметр", "свойство", "الحقل", "حقل", "العمود", "عمود", "المفتاح")
	namingSuffixes = []string{"フィールド", "カラム", "キー", "プロパティ", "テーブル", "項目", "列", "字段", "属性", "参数", "列名", "필드"}
	jsAccess       = set("reading", "setting")
	// pathWords stand before a path, and pointerVerbs behind a pointer.
	pathWords = set("open", "stat", "lstat", "mkdir", "remove", "rename", "unlink", "chdir", "exec", "fork", "read", "write", "file", "files",
		"directory", "folder", "path", "dir", "get", "post", "put", "delete", "patch", "head", "route", "endpoint", "url", "uri", "cd", "scandir",
		"readdir", "page", "страница", "страницу", "seite", "página", "datei", "pfad", "verzeichnis", "ordner", "fichier", "chemin", "dossier", "archivo", "ruta", "файл", "файла", "путь", "каталог", "الملف", "ファイル", "文件")
	pointerVerbs = set("must", "is", "should", "has", "cannot", "was", "are", "missing", "required", "muss", "doit", "ist", "fehlt")
	roots        = set("tmp", "home", "usr", "var", "etc", "opt", "app", "srv", "root", "mnt", "dev", "proc", "sys", "bin", "sbin",
		"lib", "lib64", "Users", "Library", "private", "Volumes", "workspace", "workspaces", "builds", "nix", "snap", "rustc")
	looseRoots = set("app", "data", "media", "run", "code", "go")

	// identifiers stand before a value, with a colon behind them.
	identifiers = set("requestid", "traceid", "spanid", "hostid", "userid", "orderid", "jobid", "sessionid", "correlationid", "messageid", "eventid",
		"customerid", "accountid", "transactionid", "deviceid", "clientid", "uid", "uuid", "guid", "etag", "cf-ray", "nonce", "token", "checksum", "hash")

	// units are part of the number before them.
	units = set("ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hr", "hrs", "hour",
		"hours", "day", "days", "week", "weeks", "month", "months", "year", "years", "millisecond", "milliseconds", "microseconds", "nanoseconds",
		"b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "byte", "bytes", "kilobytes", "megabytes", "gigabytes", "bit", "bits", "px",
		"pixel", "pixels", "hz", "khz", "mhz", "ghz", "am", "pm", "percent",
		"sekunde", "sekunden", "minuten", "stunde", "stunden", "tag", "tage", "tagen", "millisekunden", "seconde", "secondes", "heure", "heures", "jour", "jours",
		"octet", "octets", "ko", "mo", "go", "segundo", "segundos", "minuto", "minutos", "hora", "horas", "día", "días",
		"секунда", "секунды", "секунд", "минута", "минуты", "минут", "час", "часа", "часов", "байт", "байта", "байтов", "мс", "с", "кб", "мб", "гб",
		"ثانية", "ثوان", "ثواني", "دقيقة", "دقائق", "ساعة", "ساعات", "بايت")
	unitPrefixes = []string{"ミリ秒", "秒間", "秒", "分間", "分钟", "分", "時間", "小时", "小時", "時", "时", "日間", "日", "天", "月", "年", "バイト", "字节", "字節",
		"毫秒", "ピクセル", "像素", "초", "분", "시간", "바이트", "點", "点"}
	// dateWords are values beside a number.
	dateWords = set("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january", "february", "march", "april", "may",
		"june", "july", "august", "september", "october", "november", "december", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday",
		"tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "utc", "gmt", "cet", "cest", "est", "edt", "pst", "pdt", "z", "t",
		"januar", "februar", "märz", "mai", "juni", "juli", "oktober", "dezember", "montag", "dienstag", "mittwoch", "donnerstag", "freitag",
		"samstag", "sonntag", "uhr", "janvier", "février", "mars", "avril", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre",
		"lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio",
		"agosto", "septiembre", "octubre", "noviembre", "diciembre", "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа",
		"сентября", "октября", "ноября", "декабря")
	// joiners stand between the values of a list.
	joiners = set("and", "or", "und", "oder", "et", "ou", "y", "o", "и", "или", "と", "や", "和", "或", "或者", "و", "أو", "x", "to")
	// sameWord are forms that go by the number of something.
	sameWord = map[string]string{"were": "was", "are": "is", "have": "has", "sind": "ist", "waren": "war", "sont": "est", "others": "other"}

	// techWords have a digit, and are words.
	techWords = set("utf-8", "utf-16", "utf-32", "utf8", "utf16", "utf32", "utf8mb4", "utf-16le", "utf-16be", "ucs-2", "iso-8859-1", "latin1", "latin-1", "cp1252",
		"windows-1252", "base64", "base32", "base58", "sha1", "sha-1", "sha256", "sha-256", "sha384", "sha512", "sha-512", "md5", "crc32", "int8", "int16", "int32",
		"int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "x509", "x86", "amd64", "arm64",
		"http2", "http3", "h2", "h2c", "ipv4", "ipv6", "oauth2", "s3", "ec2", "mp3", "mp4", "h264", "log4j", "k8s", "tls1", "tlsv1", "sslv3", "ssl3", "p256",
		"rs256", "hs256", "es256", "aes128", "aes256", "rfc3339", "iso8601", "iso-8601", "log2", "log10", "gzip2", "bzip2", "lz4", "sqlite3", "psycopg2",
		"boto3", "urllib3", "python3", "py3", "neo4j", "d3", "v8", "win32", "web3", "int4", "float4", "float8", "varchar2", "utf-7")
	mediaTypes = set("image", "application", "text", "audio", "video", "multipart", "font", "model", "message")
	domains    = set("com", "org", "net", "edu", "gov", "io", "dev", "ai", "app", "cloud", "local", "internal", "localdomain", "lan", "corp", "example",
		"invalid", "localhost", "svc", "de", "fr", "jp", "cn", "ru", "uk", "eu", "br", "au", "nl", "kr", "tw", "xyz")
	extensions = set("go", "py", "pyc", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "scala", "rb", "rs", "cpp", "cc", "hpp", "cs", "php", "swift", "sql",
		"json", "jsonl", "ndjson", "yaml", "yml", "toml", "ini", "conf", "cfg", "xml", "html", "htm", "css", "csv", "tsv", "txt", "md", "pdf", "doc", "docx", "xls", "xlsx",
		"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "svg", "heic", "mp3", "mp4", "wav", "avi", "mov", "db", "sqlite", "sock", "pem", "crt", "cer",
		"p12", "pfx", "jks", "zip", "gz", "tgz", "tar", "bz2", "xz", "7z", "rar", "jar", "war", "whl", "dll", "exe", "dylib", "sh", "bat", "ps1", "bak", "tmp",
		"lock", "pid", "parquet", "avro", "proto", "ipynb", "vue", "env")
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[strings.TrimSpace(w)] = true
	}
	return m
}
