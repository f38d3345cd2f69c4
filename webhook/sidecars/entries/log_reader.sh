# Follows files: sh -c SCRIPT NAME FOLDER PATTERN LIMIT PAUSE. LIMIT: of files, PAUSE: seconds between two rounds.
# known: " INODE:PID:AGE ", the tail of each file, and a dot for each round since it last matched.
limit=$3 pause=$4
IFS=
known=' ' told=' ' ending=
trap 'ending=1' TERM INT
tell() {
  case "$told" in *" $2 "*) return;; esac
  told="$told$2 "
  echo "log-collector: $3: $1" >&2
}
follow() {
  case "$known" in
    *" $2:"*) pid=${known#*" $2:"} pid=${pid%%:*}; kill -0 "$pid" 2>/dev/null && return;;
  esac
  pid=
  if [ ! -r "$1" ]; then tell "$1" "$2" 'no permission to read'
  elif [ "${#count}" -ge "$limit" ]; then tell "$1" "$2" "not followed, there are $limit others"
  else tail -n +1 -f "$1" & pid=$!
  fi
}
scan() {
  kept=' ' count=
  for file in "$1"/$2; do
    [ -f "$file" ] || continue
    inode=`stat -L -c %i "$file" 2>/dev/null` || continue
    case "$kept" in *" $inode:"*) continue;; esac
    follow "$file" "$inode"
    [ "$pid" ] || continue
    kept="$kept$inode:$pid: " count=$count.
  done
  rest=${known# }
  while [ "$rest" ]; do
    one=${rest%% *} rest=${rest#* }
    inode=${one%%:*} age=${one##*:} pid=${one#*:}
    pid=${pid%%:*}
    case "$kept" in *" $inode:"*) continue;; esac
    case "$age" in
      ..........) kill "$pid" 2>/dev/null;;
      *) kept="$kept$inode:$pid:$age. ";;
    esac
  done
  known=$kept
}
while :; do
  scan "$1" "$2"
  [ "$ending" ] && break
  sleep "$pause"
done
sleep 2
rest=${known# }
while [ "$rest" ]; do
  one=${rest%% *} rest=${rest#* }
  pid=${one#*:}
  kill "${pid%%:*}" 2>/dev/null
done
exit 0
